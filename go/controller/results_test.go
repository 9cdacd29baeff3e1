package controller

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// An API server that says yes, and changes nothing.
func TestAPeeringThatDoesNotComeToRestIsAnError(t *testing.T) {
	patches := 0
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{
		Patch: func(ctx context.Context, to client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			patches++
			return to.Get(ctx, client.ObjectKeyFromObject(object), object)
		},
	})
	e.invite(t)
	if _, err := e.ofConsumer.Reconcile(t.Context(), request(providerID)); err != nil {
		t.Fatal(err)
	}
	for _, message := range e.toConsumer {
		if err := e.ofConsumer.Receive(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	delivered := e.deliveries
	err := e.ofProvider.Receive(t.Context(), e.toProvider[0])
	if !errors.Is(err, liqoauth.Code("restless")) || patches < 16 {
		t.Errorf("%v after %d patches", err, patches)
	}
	if _, err = e.ofProvider.Reconcile(t.Context(), request(consumerID)); !errors.Is(err, liqoauth.Code("restless")) {
		t.Errorf("%v", err)
	}
	if e.deliveries != delivered {
		t.Error("a message is sent before its step is settled")
	}
}

// What can be tried again is tried again by the queue, and all else is reported alone.
func TestARefusalThatCanBeTriedAgainIsAnError(t *testing.T) {
	down := &liqoauth.Error{Code: "backend-failed", Disposition: "retry"}
	found, err := result(&liqoauth.Next{Again: time.Minute, Step: liqoauth.Step{Refused: []liqoauth.Refused{
		{}, {Error: down}, {Error: &liqoauth.Error{Code: "key-changed", Disposition: "waitForChange"}},
	}}})
	if !errors.Is(err, down.Code) || errors.Is(err, liqoauth.Code("key-changed")) || found.RequeueAfter != time.Minute {
		t.Errorf("%+v, %v", found, err)
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
		next := &liqoauth.Next{Step: liqoauth.Step{Effects: []liqoauth.Effect{effect}}}
		session := e.ofProvider.enter(consumerID)
		if areApplied, err := e.ofProvider.apply(t.Context(), session.Session, next); areApplied || err == nil {
			t.Errorf("%s: %v, %v", kind, areApplied, err)
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
		if err := e.ofProvider.read(t.Context(), interest, e.ofProvider.bounds.NewList()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
