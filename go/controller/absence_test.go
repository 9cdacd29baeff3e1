package controller

import (
	"context"
	"strings"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"liqoauth"
)

// A step that goes by the absence of an object has no effect while the object is there.
func TestAnObjectThatIsThereIsNotTakenForGone(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			t.Error("something is deleted")
			return nil
		},
	})
	step := &liqoauth.Step{
		Absent: &liqoauth.ObjectReference{Kind: "Tenant", Namespace: "liqo-tenant-rome", Name: "rome"},
		Effects: []liqoauth.Effect{{
			Type: "delete",
			ID:   &liqoauth.ObjectReference{Kind: "Secret", Namespace: "liqo", Name: "other"},
		}},
	}
	tenant := &authv1beta1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "liqo-tenant-rome", Name: "rome"}}
	if err := e.ofProvider.Writer.Create(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	if conflict, err := e.ofProvider.apply(t.Context(), step); !conflict || err != nil {
		t.Fatalf("%v, %v", conflict, err)
	}
}

// A Tenant of that name elsewhere is another one.
func TestAnObjectInAnotherNamespaceIsAnotherOne(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	tenant := &authv1beta1.Tenant{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "rome"}}
	if err := e.ofProvider.Writer.Create(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	here := &liqoauth.ObjectReference{Kind: "Tenant", Namespace: "liqo-tenant-rome", Name: "rome"}
	if isThere, err := e.ofProvider.exists(t.Context(), here); isThere || err != nil {
		t.Errorf("%v, %v", isThere, err)
	}
}

func TestNothingIsDoneIfTheStoreCannotBeAsked(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			t.Error("something is deleted")
			return nil
		},
	})
	step := &liqoauth.Step{
		Absent: &liqoauth.ObjectReference{Kind: "Pod", Namespace: "liqo", Name: "a"},
		Effects: []liqoauth.Effect{{
			Type: "delete",
			ID:   &liqoauth.ObjectReference{Kind: "Secret", Namespace: "liqo", Name: "other"},
		}},
	}
	conflict, err := e.ofProvider.apply(t.Context(), step)
	if conflict || err == nil || !strings.Contains(err.Error(), "a Pod, which no watch names") {
		t.Errorf("%v, %v", conflict, err)
	}
}
