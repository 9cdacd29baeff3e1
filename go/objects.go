package liqoauth

import (
	"encoding/json"
	"fmt"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// View is the stored objects of one peer, as [Provider.Interests] and
// [Consumer.Interests] name them. An object that cannot be read belongs to it as it
// is: it does not count as absent.
type View struct {
	// Peer is the other cluster.
	Peer liqov1beta1.ClusterID
	// Objects are typed or unstructured.
	Objects []runtime.Object
	// VouchedNonces count as this provider's own without its authentication code,
	// such as nonces that Liqo made. The peer could not write them.
	VouchedNonces []string
}

// kinds knows the version and kind of typed objects. Clients leave them out.
var kinds = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		authv1beta1.AddToScheme,
		certificatesv1.AddToScheme,
		corev1.AddToScheme,
		rbacv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}()

// objects returns the values whose JSON are the objects, as far as they are kept.
func (v View) objects() ([]any, error) { return withinBudget(v.Objects) }

// named returns the value whose JSON is an object with its version and kind.
func named(object runtime.Object) (any, error) {
	kind, err := kindOf(object)
	if err != nil {
		return nil, err
	}
	return withKind(object, kind), nil
}

// withKind returns the same of an object of this kind.
func withKind(object runtime.Object, kind schema.GroupVersionKind) any {
	if object.GetObjectKind().GroupVersionKind().Kind == "" {
		object = object.DeepCopyObject()
		object.GetObjectKind().SetGroupVersionKind(kind)
	}
	// The map has the same JSON, and needs no buffer of its own.
	if unstructured, ok := object.(*unstructured.Unstructured); ok {
		return unstructured.Object
	}
	return object
}

// kindOf returns the version and kind of an object.
func kindOf(object runtime.Object) (schema.GroupVersionKind, error) {
	if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind != "" {
		return kind, nil
	}
	found, _, err := kinds.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("liqoauth: %w", err)
	}
	return found[0], nil
}

// Message is a message from one cluster to the other, over any transport. Its JSON is
// that of the library, so that either side may be in another language. It may carry a
// secret.
type Message struct {
	// From is the cluster that sends the message, and To the one that it is for.
	From liqov1beta1.ClusterID `json:"from"`
	To   liqov1beta1.ClusterID `json:"to"`
	// Type names the only body: nonce, tenant or identity.
	Type     string                `json:"type"`
	Nonce    string                `json:"nonce,omitempty"`
	Tenant   *authv1beta1.Tenant   `json:"tenant,omitempty"`
	Identity *authv1beta1.Identity `json:"identity,omitempty"`
	// number names the message in the session that it comes from. It is 0 elsewhere.
	number int64
}

// NonceMessage is a nonce of the provider.
func NonceMessage(from, to liqov1beta1.ClusterID, nonce string) Message {
	return Message{From: from, To: to, Type: "nonce", Nonce: nonce}
}

// TenantMessage is a Tenant of the consumer.
func TenantMessage(from, to liqov1beta1.ClusterID, tenant *authv1beta1.Tenant) Message {
	tenant = tenant.DeepCopy()
	tenant.SetGroupVersionKind(authv1beta1.GroupVersion.WithKind(authv1beta1.TenantKind))
	return Message{From: from, To: to, Type: "tenant", Tenant: tenant}
}

// IdentityMessage is an Identity of the provider.
func IdentityMessage(from, to liqov1beta1.ClusterID, identity *authv1beta1.Identity) Message {
	identity = identity.DeepCopy()
	identity.SetGroupVersionKind(authv1beta1.GroupVersion.WithKind(authv1beta1.IdentityKind))
	return Message{From: from, To: to, Type: "identity", Identity: identity}
}

// Watch is what a controller watches for all peers.
type Watch struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Plural     string `json:"plural"`
	// Namespace is empty for all namespaces.
	Namespace string `json:"namespace"`
	// Selector is a label selector, as an API server reads it.
	Selector string `json:"selector"`
}

// Interest is what to look up for the View of one peer.
type Interest struct {
	// Type is object (one object), named (a name in every namespace), labelled (a
	// label in every namespace) or inNamespace.
	Type       string `json:"type"`
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Selector   string `json:"selector"`
}

// Version of an object, as it was seen.
type Version struct {
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Effect changes one object of this cluster. Apply effects in their order, up to the
// first that fails; then look again.
type Effect struct {
	// Type is create, replace, patch or delete.
	Type string `json:"type"`
	// Object of a create or a replace.
	Object json.RawMessage `json:"object,omitempty"`
	// ID of the object to patch or to delete.
	ID *ObjectReference `json:"id,omitempty"`
	// Version that the object must have.
	Version *Version `json:"version,omitempty"`
	// Part to patch: main, status or approval.
	Part string `json:"part,omitempty"`
	// Patch is a JSON merge patch.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Request is the request to an API server that carries out the effect.
	Request APIRequest `json:"-"`
}

// APIRequest is a request to an API server.
type APIRequest struct {
	Method      string          `json:"method"`
	Path        string          `json:"path"`
	ContentType string          `json:"contentType"`
	Body        json.RawMessage `json:"body"`
}

// Step is what a call found to do.
type Step struct {
	Effects []Effect `json:"effects"`
	// Outbox is what to send once all effects are applied.
	Outbox []Message `json:"outbox"`
	// Refused is what people should know of.
	Refused []Refused         `json:"refused"`
	Notices []Notice          `json:"notices"`
	Events  []json.RawMessage `json:"events"`
	// Absent is the object whose absence the effects follow from, or nil. If the view was
	// not read at one time, ask the API server whether the object exists before you apply
	// the effects; if it does, look again.
	Absent *ObjectReference `json:"absent"`
	Wait   Wait             `json:"wait"`
}

// IsSettled reports whether there is nothing to apply.
func (s *Step) IsSettled() bool { return len(s.Effects) == 0 }

// Refused is an object of the peer that is refused, and why.
type Refused struct {
	Object *ObjectReference `json:"object"`
	Error  *Error           `json:"error"`
}

// Wait is when to look again.
type Wait struct {
	// WakeAt is a time in RFC 3339, or empty.
	WakeAt string `json:"wakeAt"`
	// Awaiting is what the peering waits for.
	Awaiting []Awaited `json:"awaiting"`
}
