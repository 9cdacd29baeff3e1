package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// firstPause is how long a run waits after its first conflict.
const firstPause = 50 * time.Millisecond

func TestAConflictLeadsToAnotherLook(t *testing.T) {
	conflicts := 0
	intercept := interceptor.Funcs{
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if conflicts == 0 {
				conflicts++
				return apierrors.NewConflict(schema.GroupResource{Resource: "tenants"}, object.GetName(), nil)
			}
			return to.Patch(ctx, object, patch, options...)
		},
	}
	e := newExchange(t, liqoauth.Backends{}, intercept)
	e.invite(t)
	for range 6 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if conflicts == 0 || !e.isAuthenticated(t) {
		t.Errorf("%d conflicts", conflicts)
	}
}

// A reconcile leaves the wait to the queue.
func TestAReconcileDoesNotWaitAfterAConflict(t *testing.T) {
	made, isTaken := 0, false
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Create: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if isTaken {
				isTaken = false
				return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, object.GetName())
			}
			made++
			object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", made)))
			return to.Create(ctx, object, options...)
		},
	})
	e.invite(t)
	nonce := &corev1.Secret{}
	name := client.ObjectKey{Namespace: "liqo-tenant-cl-consumer", Name: "liqo-nonce"}
	if err := e.atProvider.Get(t.Context(), name, nonce); err != nil {
		t.Fatal(err)
	}
	if err := e.atProvider.Delete(t.Context(), nonce); err != nil {
		t.Fatal(err)
	}
	before := made
	isTaken = true
	result, err := e.ofProvider.Reconcile(t.Context(), request(consumerID))
	if err != nil || isTaken || made != before || result.RequeueAfter != firstPause {
		t.Errorf("%v, %d objects are made, %+v", err, made-before, result)
	}
	result, err = e.ofProvider.Reconcile(t.Context(), request(consumerID))
	if err != nil || made != before+1 || result.RequeueAfter == firstPause {
		t.Errorf("%v, %d objects are made, %+v", err, made-before, result)
	}
}

// A peer that writes all the time is looked at less often, until a run is at rest.
func TestThePausesAfterConflictsGrow(t *testing.T) {
	isFaster := false
	e := authenticated(t, interceptor.Funcs{
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if isFaster {
				return apierrors.NewConflict(schema.GroupResource{Resource: "tenants"}, object.GetName(), nil)
			}
			return to.Patch(ctx, object, patch, options...)
		},
	})
	tenant := &authv1beta1.Tenant{}
	name := client.ObjectKey{Namespace: "liqo-tenant-cl-consumer", Name: "cl-consumer"}
	if err := e.atProvider.Get(t.Context(), name, tenant); err != nil {
		t.Fatal(err)
	}
	loses := func() {
		t.Helper()
		if err := e.atProvider.Get(t.Context(), name, tenant); err != nil {
			t.Fatal(err)
		}
		tenant.Labels = nil
		if err := e.atProvider.Update(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	pause := func() time.Duration {
		t.Helper()
		result, err := e.ofProvider.Reconcile(t.Context(), request(consumerID))
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	loses()
	isFaster = true
	for doublings := range 10 {
		if found, want := pause(), firstPause<<min(doublings, 7); found != want {
			t.Errorf("%d: %v, not %v", doublings, found, want)
		}
	}
	isFaster = false
	pause()
	loses()
	isFaster = true
	if found := pause(); found != firstPause {
		t.Errorf("after a run at rest: %v", found)
	}
}

func TestAnOrderIsRepeatedAfterAConflict(t *testing.T) {
	conflicts := 0
	e := authenticated(t, interceptor.Funcs{
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if conflicts > 0 {
				conflicts--
				return apierrors.NewConflict(schema.GroupResource{Resource: "tenants"}, object.GetName(), nil)
			}
			return to.Patch(ctx, object, patch, options...)
		},
	})
	set := func(condition string) error {
		_, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderSetCondition(condition))
		return err
	}
	condition := func() authv1beta1.TenantCondition {
		tenants := &authv1beta1.TenantList{}
		if err := e.atProvider.List(t.Context(), tenants); err != nil || len(tenants.Items) != 1 {
			t.Fatalf("%v, %d Tenants", err, len(tenants.Items))
		}
		return tenants.Items[0].Spec.TenantCondition
	}
	conflicts = 2
	if err := set("Cordoned"); err != nil || conflicts != 0 || condition() != authv1beta1.TenantConditionCordoned {
		t.Errorf("%v, %d conflicts are left: %s", err, conflicts, condition())
	}
	// Others are first each time.
	conflicts = 100
	if err := set("Drained"); !errors.Is(err, ErrConflict) || conflicts != 91 {
		t.Errorf("%v, %d conflicts are left", err, conflicts)
	}
	if condition() != authv1beta1.TenantConditionCordoned {
		t.Errorf("%s", condition())
	}
}

// The conflicts of an order are none of the looks, which begin with the shortest pause.
func TestAnOrderLetsNoPauseGrow(t *testing.T) {
	isFaster := false
	e := authenticated(t, interceptor.Funcs{
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if isFaster {
				return apierrors.NewConflict(schema.GroupResource{Resource: "tenants"}, object.GetName(), nil)
			}
			return to.Patch(ctx, object, patch, options...)
		},
	})
	isFaster = true
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := e.ofProvider.Order(soon, consumerID, liqoauth.OrderSetCondition("Cordoned")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderSetCondition("Cordoned")); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	tenant := &authv1beta1.Tenant{}
	name := client.ObjectKey{Namespace: "liqo-tenant-cl-consumer", Name: "cl-consumer"}
	if err := e.atProvider.Get(t.Context(), name, tenant); err != nil {
		t.Fatal(err)
	}
	tenant.Labels = nil
	if err := e.atProvider.Update(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	if result, err := e.ofProvider.Reconcile(t.Context(), request(consumerID)); err != nil || result.RequeueAfter != firstPause {
		t.Errorf("%v, %+v", err, result)
	}
}

// Nobody deletes what somebody else has made or changed since it was seen.
func TestADeletionIsForTheVersionThatWasSeen(t *testing.T) {
	deletions, isChanged := 0, false
	e := authenticated(t, interceptor.Funcs{
		Delete: func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			present := object.DeepCopyObject().(client.Object)
			if err := to.Get(ctx, client.ObjectKeyFromObject(object), present); err != nil {
				return err
			}
			wanted := (&client.DeleteOptions{}).ApplyOptions(options).Preconditions
			if wanted == nil || wanted.UID == nil || wanted.ResourceVersion == nil ||
				*wanted.UID != present.GetUID() || *wanted.ResourceVersion != present.GetResourceVersion() {
				t.Errorf("%s is deleted with %+v", object.GetName(), wanted)
			}
			deletions++
			if !isChanged {
				isChanged = true
				present.SetAnnotations(map[string]string{"changed": "meanwhile"})
				if err := to.Update(ctx, present); err != nil {
					return err
				}
			}
			return to.Delete(ctx, object, options...)
		},
	})
	if _, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderEnd()); err != nil {
		t.Fatal(err)
	}
	// The Tenant has changed before the first deletion.
	if deletions != 2 {
		t.Errorf("%d deletions", deletions)
	}
	for range 3 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if deletions < 4 {
		t.Errorf("%d deletions: the Secrets stay", deletions)
	}
}
