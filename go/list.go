package liqoauth

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mostNames is how many objects of one kind in a tenant namespace the module knows by their names.
const mostNames = budgetObjects + 16_384

// List takes the objects of a list page by page, so that it is never in memory as a whole. What has
// no room in the budget of its kind in a tenant namespace is reduced, and beyond 20,480 objects left
// out, as the module would do it. The records of this cluster are whole.
type List struct {
	bounds  Bounds
	objects []unstructured.Unstructured
	numbers map[crowd]int
	// bytes are those of the objects that came after the last reduction.
	bytes int
}

// NewList returns a list without objects.
func (b Bounds) NewList() *List {
	return &List{bounds: b, numbers: map[crowd]int{}}
}

// Add takes an object, whose kind is set.
func (l *List) Add(object unstructured.Unstructured) {
	l.bounds.Reduce(&object)
	if place, isOfPeers := crowdOf(&object); isOfPeers {
		l.numbers[place]++
		if l.numbers[place] > mostNames {
			return
		}
		l.bytes += extentOf(object.Object).bytes + reducedBytes
	}
	l.objects = append(l.objects, object)
	if l.bytes > budgetBytes {
		l.reduce()
	}
}

// Objects returns what the list has taken.
func (l *List) Objects() []unstructured.Unstructured {
	l.reduce()
	return l.objects
}

// reduce reduces those of the objects that have no room. The oldest ones have it first, so each of
// them counts anew.
func (l *List) reduce() {
	l.bytes = 0
	crowds := map[crowd][]placed{}
	for index := range l.objects {
		object := &l.objects[index]
		if place, isOfPeers := crowdOf(object); isOfPeers {
			crowds[place] = append(crowds[place], placedAt(index, object.GroupVersionKind(), object))
		}
	}
	for _, all := range crowds {
		if len(all) <= fewObjects {
			continue
		}
		slices.SortFunc(all, comparePlaced)
		bytes := 0
		for _, one := range all {
			object := &l.objects[one.index]
			lost, isReduced := object.Object[overBudget].(int)
			if !isReduced {
				lost = extentOf(object.Object).bytes
			}
			bytes += lost + reducedBytes
			if bytes > budgetBytes && !isReduced {
				object.Object = one.reduced(lost)
			}
		}
	}
}

// crowdOf returns the kind and the namespace of an object that a peer may have written.
func crowdOf(object *unstructured.Unstructured) (place crowd, isOfPeers bool) {
	kind, namespace := object.GetKind(), object.GetNamespace()
	// The records are Secrets, which nobody but this cluster writes.
	isOfPeers = peersWrite(kind) && (kind != "Secret" || strings.HasPrefix(namespace, "liqo-tenant-"))
	return crowd{kind, namespace}, isOfPeers
}
