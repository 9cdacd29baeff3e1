package controller

import (
	"context"
	"strings"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// A step that goes by the absence of an object has no effect while the object is there.
func TestAnObjectThatIsThereIsNotTakenForGone(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			t.Error("something is deleted")
			return nil
		},
	})
	step := liqoauth.Step{
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
	session := e.ofProvider.enter(consumerID)
	areApplied, err := e.ofProvider.apply(t.Context(), session.Session, &liqoauth.Next{Step: step})
	if areApplied || err != nil {
		t.Fatalf("%v, %v", areApplied, err)
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
	if found, err := e.ofProvider.find(t.Context(), here); found != nil || err != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func TestNothingIsDoneIfTheStoreCannotBeAsked(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			t.Error("something is deleted")
			return nil
		},
	})
	step := liqoauth.Step{
		Absent: &liqoauth.ObjectReference{Kind: "Pod", Namespace: "liqo", Name: "a"},
		Effects: []liqoauth.Effect{{
			Type: "delete",
			ID:   &liqoauth.ObjectReference{Kind: "Secret", Namespace: "liqo", Name: "other"},
		}},
	}
	session := e.ofProvider.enter(consumerID)
	areApplied, err := e.ofProvider.apply(t.Context(), session.Session, &liqoauth.Next{Step: step})
	if areApplied || err == nil || !strings.Contains(err.Error(), "a Pod, which no watch names") {
		t.Errorf("%v, %v", areApplied, err)
	}
}

// A list that is late does not end a peering: the store is asked for the Tenant first.
func TestALateListEndsNoPeering(t *testing.T) {
	late, deletions := 0, 0
	e := authenticated(t, interceptor.Funcs{
		List: func(ctx context.Context, from client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == authv1beta1.TenantKind && late > 0 {
				late--
				return nil
			}
			return from.List(ctx, list, options...)
		},
		Delete: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			deletions++
			return to.Delete(ctx, object, options...)
		},
	})
	interests, err := e.ofProvider.Side.Interests(t.Context(), consumerID)
	if err != nil {
		t.Fatal(err)
	}
	lists := 0
	for _, interest := range interests {
		if interest.Kind == authv1beta1.TenantKind {
			lists++
		}
	}
	late = lists
	result, err := e.ofProvider.Reconcile(t.Context(), request(consumerID))
	if err != nil || late != 0 || deletions != 0 || result.RequeueAfter <= 0 {
		t.Errorf("%v, %d lists are left, %d deletions, %+v", err, late, deletions, result)
	}
	// A store that does not have it, either.
	late = lists + 1
	if _, err := e.ofProvider.Reconcile(t.Context(), request(consumerID)); err != nil || late != 0 || deletions == 0 {
		t.Errorf("%v, %d lists are left, %d deletions", err, late, deletions)
	}
}
