package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// mostMetadata is the most bytes of an object whose metadata alone is in the cache. Those that the
// reconciler watches have some hundred.
const mostMetadata = 16 << 10

// BoundedCache returns the transform of a manager's cache (DefaultTransform of its options). An object
// is reduced before it comes into the cache, so that a peer's large objects take little memory: each
// loses its managed fields, and an unstructured one is reduced as by [liqoauth.Bounds.Reduce]. If only
// the metadata is watched, as by the reconciler, what is beyond 16 KiB loses annotations, owners,
// finalizers and labels, in this order, until the rest is less. A typed object keeps its content, since
// its readers could not tell that some is missing.
func BoundedCache(bounds liqoauth.Bounds) cache.TransformFunc {
	return func(found any) (any, error) {
		switch object := found.(type) {
		case *unstructured.Unstructured:
			bounds.Reduce(object)
		case *metav1.PartialObjectMetadata:
			reduceMetadata(&object.ObjectMeta)
		default:
			// What informers know of a deleted object has no metadata.
			if metadata, err := meta.Accessor(found); err == nil {
				metadata.SetManagedFields(nil)
			}
		}
		return found, nil
	}
}

func reduceMetadata(metadata *metav1.ObjectMeta) {
	for _, reduce := range []func(){
		func() { metadata.ManagedFields = nil },
		func() { metadata.Annotations = nil },
		func() { metadata.OwnerReferences = nil },
		func() { metadata.Finalizers = nil },
		func() { metadata.Labels = nil },
	} {
		reduce()
		if metadata.Size() <= mostMetadata {
			return
		}
	}
}
