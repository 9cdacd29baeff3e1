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

// A peer writes Secrets in its tenant namespace, whatever the name of this namespace is.
func TestAListReducesSecretsInALabelledTenantNamespace(t *testing.T) {
	for _, isLabelled := range []bool{true, false} {
		for _, isFirst := range []bool{true, false} {
			list := Bounds{Bytes: 1 << 20, Values: 1 << 20}.NewList()
			namespace := objectOf("Namespace", "", "elsewhere", "", 0)
			if isLabelled {
				namespace.SetLabels(map[string]string{"liqo.io/tenant-namespace": "true"})
			}
			if isFirst {
				list.Add(*namespace)
			}
			for i := range 40 {
				list.Add(*objectOf("Secret", "elsewhere", fmt.Sprintf("s%02d", i), "", 250_000))
				if whole := bytesOf(list.objects, "Secret", "elsewhere"); isLabelled && isFirst && whole > 2*budgetBytes {
					t.Fatalf("%d bytes are whole after %d Secrets", whole, i+1)
				}
			}
			if !isFirst {
				list.Add(*namespace)
			}
			want := map[bool]int{true: 16, false: 40}[isLabelled]
			if whole := bytesOf(list.Objects(), "Secret", "elsewhere") / 250_000; whole != want {
				t.Errorf("%v, %v: %d of 40 Secrets are whole", isLabelled, isFirst, whole)
			}
		}
	}
}

func TestAListHasAnObjectOnce(t *testing.T) {
	list := Bounds{Bytes: 1 << 20, Values: 1 << 20}.NewList()
	for i := range mostNames + 100 {
		later := objectOf("Renew", "liqo-tenant-rome", "r", "", 1)
		later.SetResourceVersion(fmt.Sprint(i))
		list.Add(*later)
	}
	list.Add(*objectOf("Renew", "liqo-tenant-milan", "r", "", 1))
	list.Add(*objectOf("Renew", "liqo-tenant-rome", "s", "", 1))
	list.Add(*objectOf("Identity", "liqo-tenant-rome", "r", "", 1))
	objects := list.Objects()
	if len(objects) != 4 || objects[0].GetResourceVersion() != fmt.Sprint(mostNames+99) {
		t.Errorf("%d objects, %v", len(objects), objects)
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
