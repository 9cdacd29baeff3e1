package liqoauth

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func objectOf(kind, namespace, name, created string, bytes int) *unstructured.Unstructured {
	version := "authentication.liqo.io/v1beta1"
	if kind == "Secret" || kind == "Namespace" {
		version = "v1"
	}
	metadata := map[string]any{"name": name, "uid": "uid-" + name, "resourceVersion": "7"}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if created != "" {
		metadata["creationTimestamp"] = created
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": kind, "metadata": metadata, "bulk": strings.Repeat("A", bytes),
	}}
}

// keptOf returns the names of the objects that have their content, and of those that are reduced.
func keptOf(t *testing.T, objects []runtime.Object) (kept, reduced []string, values []any) {
	t.Helper()
	values, err := withinBudget(objects)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		object := value.(map[string]any)
		name := object["metadata"].(map[string]any)["name"].(string)
		if object["overLimit"] == nil {
			kept = append(kept, name)
		} else {
			reduced = append(reduced, name)
		}
	}
	return kept, reduced, values
}

func TestTheOldestObjectsOfAViewKeepTheirContent(t *testing.T) {
	for kind, first := range map[string]string{"Secret": "liqo-nonce", "Tenant": "rome", "ResourceSlice": ""} {
		var objects []runtime.Object
		for i := range 12 {
			created := fmt.Sprintf("2026-11-27T12:00:%02dZ", 59-i)
			objects = append(objects, objectOf(kind, "liqo-tenant-rome", fmt.Sprintf("s%02d", i), created, 1_000_000))
		}
		objects = append(objects,
			objectOf(kind, "liqo-tenant-rome", "liqo-nonce", "", 10),
			objectOf(kind, "liqo-tenant-rome", "rome", "", 10))
		kept, reduced, _ := keptOf(t, objects)
		want := "s08 s09 s10 s11"
		if first != "" {
			want += " " + first
		}
		if found := strings.Join(kept, " "); found != want || len(kept)+len(reduced) != 14 {
			t.Errorf("%s: %s; %v", kind, found, reduced)
		}
	}
}

func TestTheBudgetOfAViewIsExact(t *testing.T) {
	for more, wanted := range []int{16, 15} {
		var objects []runtime.Object
		for i := range 16 {
			object := objectOf("Renew", "liqo-tenant-rome", fmt.Sprintf("s%02d", i), "", 0)
			text, err := json.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			rest := budgetBytes/16 - reducedBytes - len(text)
			if i == 15 {
				rest += more
			}
			object.Object["bulk"] = strings.Repeat("A", rest)
			objects = append(objects, object)
		}
		if kept, _, _ := keptOf(t, objects); len(kept) != wanted {
			t.Errorf("%d bytes more: %v", more, kept)
		}
	}
}

func TestAFewObjectsOfAViewAndThoseOfThisClusterStayWhole(t *testing.T) {
	var objects []runtime.Object
	for i := range 9 {
		name := fmt.Sprintf("s%d", i)
		if i < 8 {
			objects = append(objects, objectOf("Secret", "liqo-tenant-rome", name, "", 1_000_000))
		}
		objects = append(objects, objectOf("Secret", "liqo", name, "", 1_000_000),
			objectOf("RoleBinding", "liqo-tenant-rome", name, "", 1_000_000),
			objectOf("Secret", "elsewhere", name, "", 1_000_000))
	}
	if _, reduced, _ := keptOf(t, objects); len(reduced) != 0 {
		t.Errorf("%v", reduced)
	}
	namespace := objectOf("Namespace", "", "elsewhere", "", 0)
	namespace.SetLabels(map[string]string{"liqo.io/tenant-namespace": "true"})
	if _, reduced, _ := keptOf(t, append(objects, namespace)); len(reduced) != 5 {
		t.Errorf("%v", reduced)
	}
	if values, err := withinBudget(nil); err != nil || values == nil || len(values) != 0 {
		t.Errorf("%v, %v", values, err)
	}
}

func TestAReducedObjectOfAViewHasWhatDeletesIt(t *testing.T) {
	var objects []runtime.Object
	for i := range budgetObjects + 3 {
		object := objectOf("ResourceSlice", "liqo-tenant-rome", fmt.Sprintf("s%05d", i), "2026-11-27T12:00:00Z", 2000)
		object.SetLabels(map[string]string{"a": "b"})
		object.SetFinalizers([]string{"c"})
		objects = append(objects, object)
	}
	last := objects[budgetObjects-1].(*unstructured.Unstructured)
	last.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-27T13:00:00Z"
	large := objects[budgetObjects-2].(*unstructured.Unstructured)
	large.SetLabels(map[string]string{"a": strings.Repeat("b", reducedBytes)})
	large.SetFinalizers([]string{strings.Repeat("c", reducedBytes+1)})
	_, reduced, values := keptOf(t, objects)
	if len(values) != budgetObjects || len(reduced) == 0 {
		t.Fatalf("%d, of which %d are reduced", len(values), len(reduced))
	}
	length, err := json.Marshal(last.Object)
	if err != nil {
		t.Fatal(err)
	}
	for index, want := range map[int]string{
		1: `{"apiVersion":"authentication.liqo.io/v1beta1","kind":"ResourceSlice","metadata":` +
			`{"creationTimestamp":"2026-11-27T12:00:00Z","deletionTimestamp":"2026-11-27T13:00:00Z",` +
			`"finalizers":["c"],"labels":{"a":"b"},"name":"s04095","namespace":"liqo-tenant-rome",` +
			`"resourceVersion":"7","uid":"uid-s04095"},"overLimit":` + fmt.Sprint(len(length)) + `}`,
		2: `"metadata":{"creationTimestamp":"2026-11-27T12:00:00Z","name":"s04094",` +
			`"namespace":"liqo-tenant-rome","resourceVersion":"7","uid":"uid-s04094"}`,
	} {
		found, err := json.Marshal(values[len(values)-index])
		if err != nil || !strings.Contains(string(found), want) {
			t.Errorf("%s, %v", found, err)
		}
	}
}

// Labels and finalizers are kept up to a number of bytes.
func TestAReducedObjectKeepsShortMetadata(t *testing.T) {
	for bytes, kept := range map[int]bool{reducedBytes: true, reducedBytes + 1: false} {
		object := objectOf("ResourceSlice", "liqo-tenant-rome", "s", "", 1)
		object.SetLabels(map[string]string{"a": strings.Repeat("A", bytes-1)})
		object.SetFinalizers([]string{"a", strings.Repeat("A", bytes-2)})
		one := placedAt(0, object.GroupVersionKind(), object)
		metadata := one.reduced(1)["metadata"].(map[string]any)
		for _, field := range []string{"labels", "finalizers"} {
			if found, ok := metadata[field]; ok != kept {
				t.Errorf("%s of %d bytes: %v", field, bytes, found)
			}
		}
	}
}

func TestAViewThatHasNoJSONIsAnError(t *testing.T) {
	var objects []runtime.Object
	for i := range fewObjects + 1 {
		object := objectOf("ResourceSlice", "liqo-tenant-rome", fmt.Sprint(i), "", 1)
		object.Object["bulk"] = math.Inf(1)
		objects = append(objects, object)
	}
	if _, err := withinBudget(objects); err == nil || !strings.Contains(err.Error(), "unsupported value") {
		t.Error(err)
	}
}
