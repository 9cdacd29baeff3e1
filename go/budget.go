package liqoauth

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The budget of the objects of one kind in a tenant namespace, as the module keeps it for a
// session. A call with a View would hold all of them at once, so their content is left out before.
// The oldest objects come first.
const (
	budgetBytes   = 4 << 20
	budgetObjects = 4096
	// fewObjects are within the budget, however large each of them is.
	fewObjects = 8
	// reducedBytes is what every object takes, also without its content.
	reducedBytes = 1024
)

// placed is an object of a View, and what says which objects come first.
type placed struct {
	index int
	kind  schema.GroupVersionKind
	metav1.Object
	// rank and begun are read once, since a sort compares many times.
	rank  int
	begun time.Time
	name  string
}

func placedAt(index int, kind schema.GroupVersionKind, object metav1.Object) placed {
	found := placed{
		index: index, kind: kind, Object: object,
		begun: object.GetCreationTimestamp().Time, name: object.GetName(),
	}
	found.rank = found.rankIn(object.GetNamespace())
	return found
}

// withinBudget returns the values whose JSON are the objects. Those beyond the budget are reduced,
// or left out.
func withinBudget(objects []runtime.Object) ([]any, error) {
	values := make([]any, len(objects))
	all := make([]placed, 0, len(objects))
	tenants := newTenancy()
	for index, object := range objects {
		kind, err := kindOf(object)
		if err != nil {
			return nil, err
		}
		values[index] = withKind(object, kind)
		// The module refuses an object without metadata.
		if metadata, err := meta.Accessor(object); err == nil {
			tenants.learn(kind.Kind, metadata)
			all = append(all, placedAt(index, kind, metadata))
		}
	}
	crowds := map[crowd][]placed{}
	for _, one := range all {
		if place, isOfPeers := tenants.crowdOf(one.kind.Kind, one); isOfPeers {
			crowds[place] = append(crowds[place], one)
		}
	}
	for _, all := range crowds {
		if len(all) <= fewObjects {
			continue
		}
		slices.SortFunc(all, comparePlaced)
		if err := reduceBeyond(values, all); err != nil {
			return nil, err
		}
	}
	// What is left out has no value. The module wants a list, also of none.
	return slices.DeleteFunc(values, func(value any) bool { return value == nil }), nil
}

// overBudget is the field that says how many bytes of an object are left out.
const overBudget = "overLimit"

// reduceBeyond reduces the values of those objects that are beyond the budget.
func reduceBeyond(values []any, all []placed) error {
	bytes := 0
	for number, object := range all {
		if number >= budgetObjects {
			values[object.index] = nil
			continue
		}
		text, err := json.Marshal(values[object.index])
		if err != nil {
			return fmt.Errorf("liqoauth: %w", err)
		}
		clear(text)
		bytes += len(text) + reducedBytes
		if bytes > budgetBytes {
			values[object.index] = object.reduced(len(text))
		}
	}
	return nil
}

// comparePlaced compares two objects of one kind and namespace. A nonce comes before all others,
// and an object without an age after them.
func comparePlaced(a, b placed) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		a.begun.Compare(b.begun),
		strings.Compare(a.name, b.name),
	)
}

func (p placed) rankIn(namespace string) int {
	switch {
	case p.kind.Kind == "Secret" && (p.name == "liqo-nonce" || p.name == "liqo-signed-nonce"),
		p.kind.Kind == "Tenant" && namespace == tenantPrefix+p.name:
		return 0
	case p.begun.IsZero():
		return 2
	}
	return 1
}

// reduced returns what the module reads of an object whose content of so many bytes is left out.
func (p placed) reduced(bytes int) map[string]any {
	metadata := map[string]any{
		"name": p.GetName(), "namespace": p.GetNamespace(),
		"uid": string(p.GetUID()), "resourceVersion": p.GetResourceVersion(),
	}
	if at := p.GetCreationTimestamp(); !at.IsZero() {
		metadata["creationTimestamp"] = at.UTC().Format(time.RFC3339)
	}
	if at := p.GetDeletionTimestamp(); at != nil {
		metadata["deletionTimestamp"] = at.UTC().Format(time.RFC3339)
	}
	// The types are those of an unstructured object.
	if labels := p.GetLabels(); extentOfTexts(labels) <= reducedBytes {
		kept := map[string]any{}
		for key, text := range labels {
			kept[key] = text
		}
		metadata["labels"] = kept
	}
	if finalizers := p.GetFinalizers(); len(strings.Join(finalizers, ",")) <= reducedBytes {
		kept := []any{}
		for _, finalizer := range finalizers {
			kept = append(kept, finalizer)
		}
		metadata["finalizers"] = kept
	}
	version, kind := p.kind.ToAPIVersionAndKind()
	// The module reads why the rest is missing.
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata, overBudget: bytes}
}

func extentOfTexts(texts map[string]string) int {
	bytes := 0
	for key, text := range texts {
		bytes += len(key) + len(text)
	}
	return bytes
}
