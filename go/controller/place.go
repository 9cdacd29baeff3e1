package controller

import (
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// place is the tenant namespace of a peer, and what events in it may regard.
type place struct {
	peer liqov1beta1.ClusterID
	// namespace is empty without a tenant namespace.
	namespace string
	// tenant is empty if the namespace has none.
	tenant liqoauth.ObjectReference
	uids   map[liqoauth.ObjectReference]types.UID
}

func newPlace(peer liqov1beta1.ClusterID) *place {
	return &place{peer: peer, uids: map[liqoauth.ObjectReference]types.UID{}}
}

// add takes an object of the peer. The tenant namespace comes before the objects in it.
func (p *place) add(object client.Object) {
	id := liqoauth.ObjectReference{Kind: kindOf(object), Namespace: object.GetNamespace(), Name: object.GetName()}
	labels := object.GetLabels()
	switch {
	case id.Kind == "Namespace" && labels["liqo.io/tenant-namespace"] == "true" &&
		labels["liqo.io/remote-cluster-id"] == string(p.peer):
		p.namespace = id.Name
	case id.Namespace != "" && id.Namespace == p.namespace:
		p.uids[id] = object.GetUID()
		if id.Kind == "Tenant" {
			p.tenant = id
		}
	}
}

func kindOf(object client.Object) string { return object.GetObjectKind().GroupVersionKind().Kind }

// longestName is the longest name of an object that an event can regard: the name of an event has 253
// characters at most, and ends with a dot and a time.
const longestName = 220

// regarding returns what an event regards: the object if it is in the namespace, else the namespace.
// Kubernetes wants an event in the namespace of its object.
func (r *Reconciler) regarding(at *place, id liqoauth.ObjectReference) *corev1.ObjectReference {
	uid, isThere := at.uids[id]
	if !isThere || len(id.Name) > longestName {
		return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: at.namespace, Name: at.namespace}
	}
	version := r.peers.versions[id.Kind]
	return &corev1.ObjectReference{
		APIVersion: version.String(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, UID: uid,
	}
}
