package controller

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"liqoauth"
)

// restless is a side that always finds something to do.
type restless struct{ Side }

func (restless) Reconcile(context.Context, liqoauth.View) (*liqoauth.Step, error) {
	object := json.RawMessage(`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"liqo","generateName":"made-"}}`)
	return &liqoauth.Step{
		Effects: []liqoauth.Effect{{Type: "create", Object: object}},
		Outbox:  []liqoauth.Message{liqoauth.NonceMessage(providerID, consumerID, "early")},
	}, nil
}

func TestASideThatDoesNotSettleIsLookedAtAgain(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	reconciler := newReconciler(t, restless{e.provider}, e.atProvider, func(context.Context, liqoauth.Message) error {
		t.Error("a message is sent before its step is settled")
		return nil
	})
	result, err := reconciler.Reconcile(t.Context(), request(consumerID))
	if err != nil || result.RequeueAfter != conflictDelay {
		t.Errorf("%v, %+v", err, result)
	}
}

func TestAnUnreadableWaitIsAnError(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	wait := liqoauth.Wait{WakeAt: "soon"}
	if _, err := e.ofProvider.next(t.Context(), &liqoauth.Step{Wait: wait}); err == nil {
		t.Error("no error")
	}
}

func TestAnUnreadableObjectIsNotWritten(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			t.Error("something is created")
			return nil
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			t.Error("something is replaced")
			return nil
		},
	})
	for _, kind := range []string{"create", "replace"} {
		effect := liqoauth.Effect{Type: kind, Object: json.RawMessage("[]")}
		step := &liqoauth.Step{Effects: []liqoauth.Effect{effect}}
		if conflict, err := e.ofProvider.apply(t.Context(), step); conflict || err == nil {
			t.Errorf("%s: %v, %v", kind, conflict, err)
		}
	}
}

func TestWhatCannotBeListedIsNotTakenForAbsent(t *testing.T) {
	errDown := errors.New("the API server is down")
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return errDown },
	})
	if _, err := e.ofProvider.Reconcile(t.Context(), request(consumerID)); !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
}

func TestAnUnreadableInterestIsAnError(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			t.Error("something is read")
			return nil
		},
	})
	for name, interest := range map[string]liqoauth.Interest{
		"version":  {Type: "inNamespace", APIVersion: "a/b/c", Kind: "Secret", Namespace: "liqo"},
		"selector": {Type: "labelled", APIVersion: "v1", Kind: "Secret", Selector: "a==="},
		"type":     {Type: "unknown", APIVersion: "v1", Kind: "Secret"},
	} {
		if found, err := e.ofProvider.read(t.Context(), interest); err == nil {
			t.Errorf("%s: no error, %d objects", name, len(found))
		}
	}
}
