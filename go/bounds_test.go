package liqoauth

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func boundsOf(t *testing.T) (*pair, Bounds) {
	t.Helper()
	p := newPair(t, newLibrary(t, Options{}), newKey(t))
	bounds, err := p.provider.Bounds(t.Context())
	if err != nil || bounds.Bytes == 0 || bounds.Values == 0 {
		t.Fatalf("%+v, %v", bounds, err)
	}
	return p, bounds
}

// What the module says of an object, it says of the reduced one as well.
func TestTheModuleReadsAReducedObjectLikeTheWholeOne(t *testing.T) {
	p, bounds := boundsOf(t)
	many := make([]any, bounds.Values)
	for i := range many {
		many[i] = int64(1)
	}
	for name, content := range map[string]any{
		"bytes":  strings.Repeat("A", bounds.Bytes),
		"values": many,
	} {
		namespace := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": "liqo-tenant-cl-consumer", "labels": map[string]any{
				"liqo.io/remote-cluster-id": "cl-consumer", "liqo.io/tenant-namespace": "true",
			}},
			"spec": content,
		}}
		look := func() string {
			_, err := p.provider.Invite(t.Context(), View{Peer: "cl-consumer", Objects: []runtime.Object{namespace}})
			return fmt.Sprint(err)
		}
		whole := look()
		bounds.Reduce(namespace)
		if namespace.Object["spec"] != nil || namespace.Object["overLimit"] != name {
			t.Errorf("%s: %v", name, namespace.Object)
		}
		if reduced := look(); reduced != whole || whole == "<nil>" {
			t.Errorf("%s: %s, and reduced: %s", name, whole, reduced)
		}
	}
}

func TestAnObjectWithinTheBoundsLosesItsManagedFieldsAlone(t *testing.T) {
	bounds := Bounds{Bytes: 400, Values: 20}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"name":          "a",
			"managedFields": []any{map[string]any{"manager": strings.Repeat("A", 400)}},
		},
		"data": map[string]any{"a": "b"},
	}}
	bounds.Reduce(object)
	found, err := json.Marshal(object.Object)
	if err != nil || string(found) != `{"apiVersion":"v1","data":{"a":"b"},"kind":"Secret","metadata":{"name":"a"}}` {
		t.Errorf("%s, %v", found, err)
	}
	// No object, and one without metadata.
	for _, object := range []map[string]any{nil, {"metadata": "a"}} {
		bounds.Reduce(&unstructured.Unstructured{Object: object})
	}
}

func TestTheMetadataOfALargeObjectIsBounded(t *testing.T) {
	bounds := Bounds{Bytes: 400, Values: 20}
	bulk := strings.Repeat("A", 400)
	items := slices.Repeat([]any{"a"}, 20)
	metadata := map[string]any{
		"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1", "generation": int64(2),
		"deletionTimestamp": "2026-11-20T13:00:00Z",
		"labels":            map[string]any{"a": "b"},
	}
	for name, more := range map[string]map[string]any{
		"annotations": {"annotations": map[string]any{"a": bulk}},
		"finalizers":  {"finalizers": items},
		"unknown":     {"unknown": bulk},
		"short":       {"generateName": strings.Repeat("A", 5000)},
		"parts":       {"generateName": map[string]any{"a": bulk}},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": maps.Clone(metadata), "data": bulk,
		}}
		maps.Copy(object.Object["metadata"].(map[string]any), more)
		bounds.Reduce(object)
		found, err := json.Marshal(object.Object["metadata"])
		expected, _ := json.Marshal(metadata)
		if err != nil || string(found) != string(expected) {
			t.Errorf("%s: %s, %v", name, found, err)
		}
		if object.GetKind() != "Secret" || object.GetAPIVersion() != "v1" {
			t.Errorf("%s: %v", name, object.Object)
		}
	}
	// A short field at its limit.
	longest := strings.Repeat("A", mostShort-2)
	if kept := keepShort(map[string]any{"a": longest, "b": longest + "A"}, "a", "b"); len(kept) != 1 || kept["a"] != longest {
		t.Errorf("%d fields are kept", len(kept))
	}
	// Labels are kept before what is next to them.
	object := &unstructured.Unstructured{Object: map[string]any{"data": bulk, "metadata": map[string]any{
		"labels":      map[string]any{"a": strings.Repeat("A", 200)},
		"annotations": map[string]any{"a": strings.Repeat("A", 200)},
	}}}
	bounds.Reduce(object)
	if object.GetLabels() == nil || object.GetAnnotations() != nil {
		t.Errorf("%v", object.Object)
	}
}

// An object at the bound is whole, and one with a sign more is not.
func TestTheBoundIsThatOfTheShortestJSON(t *testing.T) {
	content := map[string]any{
		"a": []any{"b", int64(1), map[string]any{}, []any{}, []any{int64(2), int64(3)}}, "c": map[string]any{"d": "e", "f": "g"},
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if found := extentOf(content); found != (extent{len(text), 12}) {
		t.Errorf("%+v, and %s has %d bytes", found, text, len(text))
	}
	for bounds, isWhole := range map[Bounds]bool{
		{len(text), 12}: true, {len(text) - 1, 12}: false, {len(text), 11}: false,
	} {
		object := &unstructured.Unstructured{Object: maps.Clone(content)}
		bounds.Reduce(object)
		if (object.Object["a"] != nil) != isWhole {
			t.Errorf("%+v: %v", bounds, object.Object)
		}
	}
}
