package liqoauth

import liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"

// Status is the state of a peering.
type Status struct {
	// Side is provider or consumer.
	Side string                `json:"side"`
	Peer liqov1beta1.ClusterID `json:"peer"`
	// Tenant of the peer. It is nil at a consumer, and at a provider without one.
	Tenant *ObjectReference `json:"tenant"`
	// Condition is the one in force for the peer. It is empty at a consumer, and at a
	// provider without a Tenant.
	Condition string `json:"condition"`
	// ConditionHeld reports whether the provider's record holds the condition, since the
	// Tenant itself says a milder one.
	ConditionHeld bool `json:"conditionHeld"`
	// NonceUntil is a time in RFC 3339: the end of the nonce that is to be signed, or whose
	// answer is awaited. It is empty without such a nonce, and for Liqo's.
	NonceUntil   string         `json:"nonceUntil"`
	ControlPlane HolderStatus   `json:"controlPlane"`
	Slices       []HolderStatus `json:"slices"`
	Notices      []Notice       `json:"notices"`
	// Due reports whether this side has something to do: Reconcile returns effects.
	Due bool `json:"due"`
	// Awaits is what the peering waits for. A look asks no backend, so each answer for which a
	// step asks is awaited until it is stored.
	Awaits []Awaited `json:"awaits"`
	// Refused objects, with the reasons.
	Refused []Refused `json:"refused"`
}

// HolderStatus is the state of the identity of a control plane, or of a slice.
type HolderStatus struct {
	// Type of the holder: controlPlane or slice.
	Type string `json:"type"`
	// Slice is empty for the control plane.
	Slice string `json:"slice"`
	// Phase in the terms of this side.
	Phase string `json:"phase"`
	// Stage is inProgress, waiting, authenticated, refused or ending.
	Stage string `json:"stage"`
	// Certificate that the holder has got, in any phase: it may have expired, or count no more.
	// At a provider it is the one on record, at a consumer the one that this side has verified.
	Certificate *Certificate `json:"certificate"`
	// ValidUntil is when the certificate that counts in this phase expires, in RFC 3339.
	ValidUntil string `json:"validUntil"`
	// RenewalDueAt is when the certificate is due for renewal, in RFC 3339. It is empty while
	// the certificate is being renewed.
	RenewalDueAt string `json:"renewalDueAt"`
	Refused      *Error `json:"refused"`
	// Authentication is the provider's decision on the request of a slice: Accepted, Denied, or
	// empty without one. A provider has it from its record, which the peer cannot write.
	Authentication string `json:"authentication"`
	// Resources is the same on the resources of a slice. At a provider it is empty as well if
	// another controller decides on the class.
	Resources string `json:"resources"`
	// Cordoned reports whether the slice is cordoned, by itself or with its peer: at a provider
	// by what is on record, at a consumer by the slice's annotations.
	Cordoned bool `json:"cordoned"`
}

// Certificate names a certificate, and its time in RFC 3339.
type Certificate struct {
	Fingerprint string `json:"fingerprint"`
	ValidFrom   string `json:"validFrom"`
	ValidUntil  string `json:"validUntil"`
}

// Awaited is something that a peering waits for.
type Awaited struct {
	// Type names it. The types are those of the Rust type liqo_auth::machine::Awaited.
	Type string `json:"type"`
	// From is who acts next: peer, administrator, backend or store.
	From string `json:"from"`
	// Remedy is what an administrator of this cluster can do. It is nil if somebody else has
	// to act.
	Remedy *Remedy `json:"remedy"`
	// ID of a question to a backend.
	ID     string           `json:"id"`
	Object *ObjectReference `json:"object"`
	// UserARN and AccessKeyID name a key that is to be deleted at AWS.
	UserARN     string `json:"userArn"`
	AccessKeyID string `json:"accessKeyId"`
}

// Notice is a fact that a person may want to know. No notice is an error.
type Notice struct {
	// Type names it. The types are those of the Rust type liqo_auth::machine::Notice.
	Type string `json:"type"`
	// Remedy is what an administrator of this cluster can do.
	Remedy *Remedy `json:"remedy"`
	// LabelValue that a missing ClusterRole must have.
	LabelValue  string           `json:"labelValue"`
	Condition   string           `json:"condition"`
	Fingerprint string           `json:"fingerprint"`
	Identity    *ObjectReference `json:"identity"`
	// Until is a time in RFC 3339.
	Until     string            `json:"until"`
	Error     *Error            `json:"error"`
	Slice     *ObjectReference  `json:"slice"`
	Secret    *ObjectReference  `json:"secret"`
	Digest    string            `json:"digest"`
	Resources map[string]string `json:"resources"`
}

// Remedy is what an administrator of this cluster can do.
type Remedy struct {
	// Code is stable: invite, replaceNonce, carryNonce, approve, answerRequest, deleteAccessKey,
	// decideResources, confirmGrant, uncordonSlice, liftCondition, createClusterRole,
	// carryIdentity, carryAnswer, carryRequest, authenticateAgain, release, signAgain,
	// requestSlice, deleteSlice, compareFingerprint or nameKubeconfig.
	Code string `json:"code"`
	// ID of the question, for answerRequest.
	ID string `json:"id"`
	// UserARN and AccessKeyID, for deleteAccessKey.
	UserARN     string `json:"userArn"`
	AccessKeyID string `json:"accessKeyId"`
	// Object is the Tenant or the slice for signAgain, and the Renew or the slice for carryAnswer
	// and carryRequest. Force means that its certificate counts as in force, and is signed again
	// all the same.
	Object *ObjectReference `json:"object"`
	Force  bool             `json:"force"`
	// Slice, for decideResources, confirmGrant, uncordonSlice, requestSlice and deleteSlice.
	Slice *ObjectReference `json:"slice"`
	// Resources that confirmGrant grants.
	Resources map[string]string `json:"resources"`
	// Condition that liftCondition lifts.
	Condition string `json:"condition"`
	// LabelValue for createClusterRole.
	LabelValue string `json:"labelValue"`
	// Fingerprint for compareFingerprint.
	Fingerprint string `json:"fingerprint"`
	// Digest for nameKubeconfig.
	Digest string `json:"digest"`
}
