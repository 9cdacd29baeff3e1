package liqoauth

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tenancy says which objects a peer may have written: those of some kinds, and of the Secrets only
// those in a tenant namespace. This cluster's own Secrets, such as its records, are elsewhere.
type tenancy struct {
	// labelled are the Namespaces with the label of a tenant namespace, whatever their names.
	labelled map[string]bool
}

// crowd is the objects of one kind in one namespace.
type crowd struct{ kind, namespace string }

const tenantPrefix = "liqo-tenant-"

func newTenancy() tenancy { return tenancy{labelled: map[string]bool{}} }

// learn takes an object of this kind. Namespaces tell the tenant namespaces.
func (t tenancy) learn(kind string, object metav1.Object) {
	if kind == "Namespace" {
		t.labelled[object.GetName()] = object.GetLabels()["liqo.io/tenant-namespace"] == "true"
	}
}

// crowdOf returns the kind and the namespace of an object that a peer may have written.
func (t tenancy) crowdOf(kind string, object metav1.Object) (place crowd, isOfPeers bool) {
	namespace := object.GetNamespace()
	switch kind {
	case "Tenant", "Identity", "NamespaceMap", "ResourceSlice", "Renew":
		isOfPeers = true
	case "Secret":
		// The default name counts while the Namespace is not known.
		isOfPeers = t.labelled[namespace] || strings.HasPrefix(namespace, tenantPrefix)
	}
	return crowd{kind, namespace}, isOfPeers
}
