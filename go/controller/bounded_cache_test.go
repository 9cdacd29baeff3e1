package controller

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	clustertest "k8s.io/client-go/tools/cache/testing"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// manyTexts returns texts of 1.1 MB together.
func manyTexts() []string {
	texts := make([]string, 1100)
	for i := range texts {
		texts[i] = fmt.Sprintf("%04d", i) + strings.Repeat("A", 996)
	}
	return texts
}

// bulkyMetadata has 1.1 MB in a field of the metadata.
func bulkyMetadata(field string, number int) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprint(number), Namespace: "liqo-tenant-rome", UID: "uid", ResourceVersion: "7",
		Labels:      map[string]string{"liqo.io/remote-cluster-id": "rome"},
		Annotations: map[string]string{"a": "b"},
	}}
	for _, text := range manyTexts() {
		switch field {
		case "managedFields":
			entry := metav1.ManagedFieldsEntry{Manager: "liqoctl", FieldsV1: &metav1.FieldsV1{Raw: []byte(text)}}
			object.ManagedFields = append(object.ManagedFields, entry)
		case "annotations":
			object.Annotations[text] = ""
		case "ownerReferences":
			object.OwnerReferences = append(object.OwnerReferences, metav1.OwnerReference{Name: text})
		case "finalizers":
			object.Finalizers = append(object.Finalizers, text)
		case "labels":
			object.Labels[text] = ""
		}
	}
	return object
}

// cached returns what a cache has of objects, of which a list shows the first half, and a watch the rest.
func cached(t *testing.T, of kruntime.Object, number int, object func(int) kruntime.Object) []any {
	t.Helper()
	source := clustertest.NewFakeControllerSource()
	for i := range number / 2 {
		source.Add(object(i))
	}
	informer := cache.NewSharedIndexInformer(source, of, 0, nil)
	if err := informer.SetTransform(BoundedCache(liqoauth.Bounds{Bytes: 256 << 10, Values: 65_536})); err != nil {
		t.Fatal(err)
	}
	come := make(chan struct{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { come <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	for i := range number {
		if i == number/2 {
			for i := number / 2; i < number; i++ {
				source.Add(object(i))
			}
		}
		<-come
	}
	return informer.GetStore().List()
}

// bytesOf returns the bytes of what a cache has.
func bytesOf(t *testing.T, objects []any) int {
	t.Helper()
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

func TestAnObjectOf1MegabyteTakesLittleMemoryInACache(t *testing.T) {
	const number = 8
	for _, field := range []string{"managedFields", "annotations", "ownerReferences", "finalizers", "labels"} {
		objects := cached(t, &metav1.PartialObjectMetadata{}, number, func(i int) kruntime.Object { return bulkyMetadata(field, i) })
		if found := bytesOf(t, objects); len(objects) != number || found > number*1024 {
			t.Errorf("%s: %d objects have %d bytes", field, len(objects), found)
		}
		for _, object := range objects {
			// The labels say whose the object is, so they go last.
			labels := object.(*metav1.PartialObjectMetadata).Labels
			if field != "labels" && labels["liqo.io/remote-cluster-id"] != "rome" {
				t.Errorf("%s: the labels are %v", field, labels)
			}
		}
	}
	for _, field := range []string{"spec", "status", "annotations"} {
		objects := cached(t, &unstructured.Unstructured{}, number, func(i int) kruntime.Object {
			object := slice(i)
			object["kind"], object["apiVersion"] = authv1beta1.ResourceSliceKind, "authentication.liqo.io/v1beta1"
			bulk := object
			if field == "annotations" {
				bulk = object["metadata"].(map[string]any)
			}
			bulk[field] = map[string]any{"a": strings.Join(manyTexts(), "")}
			return &unstructured.Unstructured{Object: object}
		})
		if found := bytesOf(t, objects); len(objects) != number || found > number*1024 {
			t.Errorf("%s: %d objects have %d bytes", field, len(objects), found)
		}
	}
}

func TestWhatIsWithinTheBoundsStaysInACache(t *testing.T) {
	object := bulkyMetadata("", 7)
	object.Finalizers = []string{"c"}
	object.OwnerReferences = []metav1.OwnerReference{{Name: "d"}}
	object.Annotations["a"] = strings.Repeat("A", mostMetadata-object.ObjectMeta.Size())
	// The length of a longer text has two bytes more.
	object.Annotations["a"] = object.Annotations["a"][:len(object.Annotations["a"])-(object.ObjectMeta.Size()-mostMetadata)]
	if object.ObjectMeta.Size() != mostMetadata {
		t.Fatalf("%d bytes", object.ObjectMeta.Size())
	}
	transform := BoundedCache(liqoauth.Bounds{Bytes: 256 << 10, Values: 65_536})
	want := object.DeepCopy()
	object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "liqoctl"}}
	if found, err := transform(object); err != nil || !reflect.DeepEqual(found, want) {
		t.Errorf("%v, %+v", err, found)
	}
	object.Finalizers = []string{"ce"}
	if _, err := transform(object); err != nil || object.Annotations != nil || object.OwnerReferences == nil {
		t.Errorf("%v, %+v", err, object)
	}
}

// Whoever reads a typed object could not tell that some of it is missing.
func TestATypedObjectKeepsItsContentInACache(t *testing.T) {
	transform := BoundedCache(liqoauth.Bounds{Bytes: 256 << 10, Values: 65_536})
	object := &authv1beta1.Tenant{ObjectMeta: bulkyMetadata("managedFields", 7).ObjectMeta}
	object.Spec.CSR = []byte(strings.Join(manyTexts(), ""))
	if _, err := transform(object); err != nil || object.ManagedFields != nil || len(object.Spec.CSR) != 1_100_000 {
		t.Errorf("%v, %d bytes", err, len(object.Spec.CSR))
	}
	gone := cache.DeletedFinalStateUnknown{Key: "a"}
	if found, err := transform(gone); err != nil || found != gone {
		t.Errorf("%v, %v", err, found)
	}
}
