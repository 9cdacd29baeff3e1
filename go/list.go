package liqoauth

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mostNames is how many objects of one kind in a tenant namespace the module knows by their names.
const mostNames = budgetObjects + 16_384

// List takes the objects of a peer page by page, so that they are never in memory as a whole. What
// has no room in the budget of its kind in a tenant namespace is reduced, and beyond 20,480 objects
// left out, as the module would do it. The records of this cluster are whole. Tenant namespaces are
// known by their default names, and by the labels of the Namespaces that the list has: so give it the
// Namespaces first.
type List struct {
	bounds  Bounds
	tenants tenancy
	objects []unstructured.Unstructured
	// at is the index of each object.
	at      map[ObjectReference]int
	numbers map[crowd]int
	// bytes are those of the objects that came after the last reduction.
	bytes int
}

// NewList returns a list without objects.
func (b Bounds) NewList() *List {
	return &List{bounds: b, tenants: newTenancy(), at: map[ObjectReference]int{}, numbers: map[crowd]int{}}
}

// Add takes an object, whose kind is set. It takes the place of the same object that came before.
func (l *List) Add(object unstructured.Unstructured) {
	l.bounds.Reduce(&object)
	kind := object.GetKind()
	l.tenants.learn(kind, &object)
	id := ObjectReference{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	index, isKnown := l.at[id]
	if place, isOfPeers := l.tenants.crowdOf(kind, &object); isOfPeers {
		if !isKnown && l.numbers[place] >= mostNames {
			return
		}
		l.bytes += extentOf(object.Object).bytes + reducedBytes
		if !isKnown {
			l.numbers[place]++
		}
	}
	if isKnown {
		l.objects[index] = object
	} else {
		l.at[id] = len(l.objects)
		l.objects = append(l.objects, object)
	}
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
		if place, isOfPeers := l.tenants.crowdOf(object.GetKind(), object); isOfPeers {
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
