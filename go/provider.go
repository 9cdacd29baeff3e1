package liqoauth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// ProviderConfig configures a provider.
type ProviderConfig struct {
	// ClusterID of this cluster.
	ClusterID liqov1beta1.ClusterID `json:"clusterID"`
	// APIServer is the URL by which peers reach this cluster's API server.
	APIServer string `json:"apiServer"`
	// APIServerCA is its CA, in PEM. Empty if its certificate is publicly trusted.
	APIServerCA string `json:"apiServerCA,omitempty"`
	// ClientCAs are the CAs by which the API server lets clients in, or more than these, in
	// PEM: client-ca-file in the ConfigMap extension-apiserver-authentication of kube-system.
	// A certificate on record that none of them has issued is signed anew, once for each set.
	// Empty if they are unknown; a text that cannot be read is as none.
	ClientCAs string `json:"clientCAs,omitempty"`
	// KubernetesSigner lets kube-controller-manager sign the requests.
	KubernetesSigner bool `json:"kubernetesSigner,omitempty"`
	// RequireApproval makes each new request wait for Approve.
	RequireApproval bool `json:"requireApproval,omitempty"`
	// AdoptFromLiqo lets a running peering of Liqo go on without a new handshake. Set it only
	// if no peer has the right to write the status of a Tenant. Liqo's roles give no peer
	// this right.
	AdoptFromLiqo bool `json:"adoptFromLiqo,omitempty"`
	// AdoptUpTo says how much of each resource a slice keeps of what Liqo has granted it, if
	// its peering is adopted. If it is nil, these are Liqo's default resources; if it is
	// empty, a slice keeps nothing. ConfirmSlice grants what goes beyond.
	AdoptUpTo map[string]string `json:"adoptUpTo,omitzero"`
	// NonceLifetimeSeconds is a day if it is 0.
	NonceLifetimeSeconds uint64 `json:"nonceLifetimeSeconds,omitempty"`
	// InvitationsLapse says whether a first invitation ends with its nonce. If it is false,
	// the invitation lasts as long as its Secret, and the nonce is made anew.
	InvitationsLapse bool `json:"invitationsLapse,omitempty"`
	// PeerAgainSeconds is how long after its end a peering may begin again with its nonce,
	// which serves at least while it is valid. If it is nil, a nonce serves once.
	PeerAgainSeconds *uint64 `json:"peerAgainSeconds,omitempty"`
	// CertificateLifetimeSeconds is 365 days if it is 0.
	CertificateLifetimeSeconds uint64 `json:"certificateLifetimeSeconds,omitempty"`
	// Namespace of the provider's records; liqo if it is empty.
	Namespace string `json:"namespace,omitempty"`
	// Policy for all peers.
	Policy Policy `json:"policy"`
	// Peers are the settings of single consumers.
	Peers map[liqov1beta1.ClusterID]ConsumerSettings `json:"peers,omitempty"`
}

// ConsumerSettings are a provider's settings for one consumer.
type ConsumerSettings struct {
	Policy              *Policy `json:"policy,omitempty"`
	TolerateNoHandshake bool    `json:"tolerateNoHandshake,omitempty"`
	// KeepRecord keeps the record of an ended peering, so that the consumer waits for
	// a new invitation.
	KeepRecord bool `json:"keepRecord,omitempty"`
}

// Backends answer the questions of a provider. Each may return [ErrPending] or
// [Denied].
type Backends struct {
	// Key proves this cluster's identity to its peers. It may be nil.
	Key *Key
	// Names says which users and groups exist. Without it, nobody is let in.
	Names func(context.Context, NameRequest) (taken bool, err error)
	// Signer signs requests, and returns certificates in PEM, the client's first.
	// Without it, nothing is signed, unless Kubernetes' own signer does.
	Signer func(context.Context, SigningRequest) (string, error)
	// Approver decides on each new request before it is signed. If it is nil, every
	// verified request is approved.
	Approver func(context.Context, ApprovalRequest) error
	// AWS gives each peer an AWS user in place of a certificate. It may be nil.
	AWS func(context.Context, AWSRequest) (*AWSUser, error)
	// Slices decides on the resources of a slice. If it is nil, Liqo's own classes
	// are granted.
	Slices func(context.Context, SliceRequest) (*SliceDecision, error)
	// Now is time.Now if it is nil.
	Now func() time.Time
}

// Subject of a certificate.
type Subject struct {
	Organization string `json:"organization"`
	CommonName   string `json:"commonName"`
}

// Holder of an identity: Type is controlPlane, or slice with its name.
type Holder struct {
	Type  string `json:"type"`
	Slice string `json:"slice"`
}

// SigningRequest is a verified request whose proof is stored.
type SigningRequest struct {
	// ID is the same each time. Store the answer under it: there is one certificate
	// for each request.
	ID              string                `json:"id"`
	Peer            liqov1beta1.ClusterID `json:"peer"`
	Holder          Holder                `json:"holder"`
	CSR             string                `json:"csr"`
	Subject         Subject               `json:"subject"`
	PublicKey       string                `json:"publicKey"`
	LifetimeSeconds uint64                `json:"lifetimeSeconds"`
	Now             time.Time             `json:"now"`
}

// ApprovalRequest is a verified request that is to be approved.
type ApprovalRequest struct {
	Peer        liqov1beta1.ClusterID `json:"peer"`
	Tenant      ObjectReference       `json:"tenant"`
	PublicKey   string                `json:"publicKey"`
	Fingerprint string                `json:"fingerprint"`
	CSR         string                `json:"csr"`
	ProxyURL    string                `json:"proxyURL"`
	Now         time.Time             `json:"now"`
}

// NameRequest asks whether a name belongs to somebody else than the claimant.
type NameRequest struct {
	// Kind is user or group.
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Claimant struct {
		// Type is controlPlane, peeringUser or slice.
		Type     string                `json:"type"`
		Consumer liqov1beta1.ClusterID `json:"consumer"`
		Slice    string                `json:"slice"`
	} `json:"claimant"`
}

// AWSRequest asks for an AWS user.
type AWSRequest struct {
	ID      string                `json:"id"`
	Peer    liqov1beta1.ClusterID `json:"peer"`
	Holder  Holder                `json:"holder"`
	Subject Subject               `json:"subject"`
}

// AWSUser is a user of AWS with an access key.
type AWSUser struct {
	UserARN         string `json:"awsUserArn"`
	AccessKeyID     string `json:"awsAccessKeyID"`
	SecretAccessKey string `json:"awsSecretAccessKey"`
	Region          string `json:"awsRegion"`
	ClusterName     string `json:"awsClusterName"`
}

// SliceRequest is a slice whose resources are to be decided on.
type SliceRequest struct {
	Peer      liqov1beta1.ClusterID `json:"peer"`
	Slice     string                `json:"slice"`
	Class     string                `json:"class"`
	Resources map[string]string     `json:"resources"`
	Granted   json.RawMessage       `json:"granted"`
	// GrantedToOthers is what the peer's other slices are granted, all together.
	GrantedToOthers map[string]string `json:"grantedToOthers"`
	Now             time.Time         `json:"now"`
}

// SliceDecision is the decision on a slice: Type is grant, deny or notMine.
type SliceDecision struct {
	Type  string
	Grant *Grant
	// Reason of a denial: one word in upper camel case.
	Reason string
	// Message of a denial: a sentence.
	Message string
}

// MarshalJSON writes the fields of the type. Those of a denial are written if they are
// empty, too.
func (d SliceDecision) MarshalJSON() ([]byte, error) {
	form := map[string]any{"type": d.Type}
	switch d.Type {
	case "grant":
		form["grant"] = d.Grant
	case "deny":
		form["reason"] = d.Reason
		form["message"] = d.Message
	}
	return json.Marshal(form)
}

// Grant is the resources and classes that a slice gets.
type Grant struct {
	Resources           map[string]string              `json:"resources,omitempty"`
	StorageClasses      []liqov1beta1.StorageType      `json:"storageClasses,omitempty"`
	IngressClasses      []liqov1beta1.IngressType      `json:"ingressClasses,omitempty"`
	LoadBalancerClasses []liqov1beta1.LoadBalancerType `json:"loadBalancerClasses,omitempty"`
	// NodeLabels are the labels of this cluster.
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// NodeSelector is the selector that offloaded pods get.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// Provider offers this cluster's resources to consumers. It keeps no state: the phase
// of a peering follows from its objects.
type Provider struct {
	machine
	// config is the first configuration. Its client CAs may have changed since.
	config ProviderConfig
	side   func(ProviderConfig) map[string]any
}

// Provider returns a provider. The record key has 32 random bytes, which stay the same
// for the life of the cluster; it seals the provider's records. Unlike a private key,
// it enters the module, and is wiped there after each call. Do not change the maps of the
// config afterwards.
func (l *Library) Provider(config ProviderConfig, recordKey [32]byte, backends Backends) *Provider {
	present := []struct {
		name string
		set  bool
	}{
		{"names", backends.Names != nil},
		{"signer", backends.Signer != nil},
		{"approver", backends.Approver != nil},
		{"aws", backends.AWS != nil},
		{"slices", backends.Slices != nil},
	}
	names := []string{}
	for _, backend := range present {
		if backend.set {
			names = append(names, backend.name)
		}
	}
	side := func(config ProviderConfig) map[string]any {
		side := map[string]any{"config": config, "backends": names}
		if backends.Key != nil {
			side["key"] = backends.Key
		}
		return side
	}
	secrets := map[string]any{"recordKey": recordKey[:]}
	values := valuesOfProvider(config.Namespace)
	machine := newMachine(l, "provider", side(config), secrets, values, backends.answer, backends.Now)
	return &Provider{machine: machine, config: config, side: side}
}

// SetClientCAs takes the CAs by which the API server lets clients in from now on, as
// [ProviderConfig].ClientCAs has them. A call that has begun goes on with the earlier ones, and
// each session takes the new ones at its next call.
func (p *Provider) SetClientCAs(clientCAs string) {
	config := p.config
	config.ClientCAs = clientCAs
	p.configure(p.side(config))
}

func (b Backends) answer(ctx context.Context, kind string, question json.RawMessage) (any, error) {
	switch {
	case kind == "name" && b.Names != nil:
		return read(question, func(q NameRequest) (bool, error) { return b.Names(ctx, q) })
	case kind == "certificate" && b.Signer != nil:
		return read(question, func(q SigningRequest) (string, error) { return b.Signer(ctx, q) })
	case kind == "approval" && b.Approver != nil:
		return read(question, func(q ApprovalRequest) (any, error) { return nil, b.Approver(ctx, q) })
	case kind == "awsIdentity" && b.AWS != nil:
		return read(question, func(q AWSRequest) (*AWSUser, error) { return b.AWS(ctx, q) })
	case kind == "resources" && b.Slices != nil:
		return read(question, func(q SliceRequest) (*SliceDecision, error) { return b.Slices(ctx, q) })
	case kind == "signature" && b.Key != nil:
		return b.Key.answer(ctx, kind, question)
	default:
		return nil, fmt.Errorf("no backend for %q", kind)
	}
}

// Invite invites a peer: it makes the nonce that the peer signs.
func (p *Provider) Invite(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderInvite())
}

// ReplaceNonce replaces the nonce of a peer, which then counts as used.
func (p *Provider) ReplaceNonce(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderReplaceNonce())
}

// Approve approves the request that waits for an administrator.
func (p *Provider) Approve(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderApprove())
}

// Deny denies the request that waits for an administrator.
func (p *Provider) Deny(ctx context.Context, view View, reason string) (*Step, error) {
	return p.step(ctx, view, OrderDeny(reason))
}

// SetCondition sets the condition of a peer: Active, Cordoned or Drained.
func (p *Provider) SetCondition(ctx context.Context, view View, condition string) (*Step, error) {
	return p.step(ctx, view, OrderSetCondition(condition))
}

// LiftCondition lifts the recorded condition of a peer.
func (p *Provider) LiftCondition(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderLiftCondition())
}

// ReleaseKey forgets the pinned key of a peer.
func (p *Provider) ReleaseKey(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderReleaseKey())
}

// AWSKeyRevoked records that an access key is deleted at AWS.
func (p *Provider) AWSKeyRevoked(ctx context.Context, view View, accessKeyID string) (*Step, error) {
	return p.step(ctx, view, OrderAWSKeyRevoked(accessKeyID))
}

// SignAgain asks Kubernetes' signer again, after a denial. The slice is empty for the
// control plane.
func (p *Provider) SignAgain(ctx context.Context, view View, slice string) (*Step, error) {
	return p.step(ctx, view, OrderSignAgain(slice))
}

// CordonSlice stops a slice from getting more resources.
func (p *Provider) CordonSlice(ctx context.Context, view View, slice string) (*Step, error) {
	return p.step(ctx, view, OrderCordonSlice(slice))
}

// UncordonSlice ends the cordon of a slice.
func (p *Provider) UncordonSlice(ctx context.Context, view View, slice string) (*Step, error) {
	return p.step(ctx, view, OrderUncordonSlice(slice))
}

// ReconsiderSlice decides on the resources of a slice anew.
func (p *Provider) ReconsiderSlice(ctx context.Context, view View, slice string) (*Step, error) {
	return p.step(ctx, view, OrderReconsiderSlice(slice))
}

// ConfirmSlice grants a slice what Liqo granted it beyond AdoptUpTo.
func (p *Provider) ConfirmSlice(ctx context.Context, view View, slice string) (*Step, error) {
	return p.step(ctx, view, OrderConfirmSlice(slice))
}

// End ends the peering.
func (p *Provider) End(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderEnd())
}

// EndForGood ends the peering, and its nonce does not serve again.
func (p *Provider) EndForGood(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderEndForGood())
}

// DeleteOffloaded lets Liqo delete the namespaces that a peer has offloaded to this cluster.
func (p *Provider) DeleteOffloaded(ctx context.Context, view View) (*Step, error) {
	return p.step(ctx, view, OrderDeleteOffloaded())
}
