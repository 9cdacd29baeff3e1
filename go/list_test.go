package liqoauth

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAListIsReducedPageByPageAsAWhole(t *testing.T) {
	for kind, namespace := range map[string]string{"ResourceSlice": "elsewhere", "Secret": "liqo-tenant-rome"} {
		list := Bounds{Bytes: 1 << 20, Values: 1 << 20}.NewList()
		for i := range 40 {
			object := objectOf(kind, namespace, fmt.Sprintf("s%02d", i), "", 250_000)
			object.SetLabels(map[string]string{"a": "b"})
			object.SetFinalizers([]string{"c"})
			list.Add(*object)
			list.Add(*objectOf("Secret", "liqo", fmt.Sprint(i), "", 250_000))
			list.Add(*objectOf("ClusterRole", "", fmt.Sprint(i), "", 250_000))
			if whole := bytesOf(list.objects, kind, namespace); whole > 2*budgetBytes {
				t.Fatalf("%d bytes are whole after %d objects", whole, i+1)
			}
		}
		var whole, reduced, records, roles int
		for _, object := range list.Objects() {
			lost := object.Object["overLimit"]
			switch {
			case object.GetKind() == "ClusterRole" && lost == nil:
				roles++
			case object.GetNamespace() == "liqo" && lost == nil:
				records++
			case lost == nil:
				whole++
			case lost.(int) > 250_000 && object.GetLabels()["a"] == "b" && object.GetFinalizers()[0] == "c" &&
				object.GetUID() != "" && object.GetName() >= "s16" && object.Object["bulk"] == nil:
				reduced++
			}
		}
		if whole != 16 || reduced != 24 || records != 40 || roles != 40 {
			t.Errorf("%s: %d whole, %d reduced, %d records, %d roles", kind, whole, reduced, records, roles)
		}
	}
	few := Bounds{Bytes: 1 << 20, Values: 1 << 20}.NewList()
	for i := range 8 {
		few.Add(*objectOf("Renew", "elsewhere", fmt.Sprint(i), "", 1_000_000))
	}
	for _, object := range few.Objects() {
		if object.Object["overLimit"] != nil {
			t.Error("one of eight objects is reduced")
		}
	}
}

// bytesOf returns the bytes of the objects of one kind in a namespace that are whole.
func bytesOf(objects []unstructured.Unstructured, kind, namespace string) int {
	bytes := 0
	for _, object := range objects {
		if object.GetKind() == kind && object.GetNamespace() == namespace && object.Object[overBudget] == nil {
			bytes += extentOf(object.Object).bytes
		}
	}
	return bytes
}

func TestAListKnowsABoundedNumberOfNames(t *testing.T) {
	list := Bounds{Bytes: 1 << 20, Values: 1 << 20}.NewList()
	for i := range mostNames + 100 {
		list.Add(*objectOf("NamespaceMap", "liqo-tenant-rome", fmt.Sprintf("m%05d", i), "", 1))
	}
	list.Add(*objectOf("NamespaceMap", "liqo-tenant-milan", "m", "", 1))
	for i := range 2 {
		list.Add(*objectOf("ClusterRole", "", fmt.Sprint(i), "", 1))
	}
	objects := list.Objects()
	whole := 0
	for _, object := range objects {
		if object.Object[overBudget] == nil {
			whole++
		}
	}
	if len(objects) != mostNames+3 || whole > budgetObjects+3 || whole < budgetObjects/2 {
		t.Errorf("%d objects, %d of them whole", len(objects), whole)
	}
}

func TestAListReducesAnObjectBeyondTheBounds(t *testing.T) {
	list := Bounds{Bytes: 1000, Values: 100}.NewList()
	list.Add(*objectOf("ClusterRole", "", "large", "", 2000))
	if objects := list.Objects(); len(objects) != 1 || objects[0].Object["overLimit"] == nil {
		t.Error("it is whole")
	}
}
