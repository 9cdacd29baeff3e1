package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

func TestAPauseEndsWithItsContext(t *testing.T) {
	if goesOn, err := waitFor(t.Context(), time.Millisecond); !goesOn || err != nil {
		t.Errorf("%v, %v", goesOn, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if goesOn, err := waitFor(ctx, time.Hour); goesOn || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", goesOn, err)
	}
	if goesOn, err := returnAtOnce(t.Context(), time.Hour); goesOn || err != nil {
		t.Errorf("%v, %v", goesOn, err)
	}
}

// A peer that is handled twice at a time has one session, and one run at a time.
func TestAPeerHasOneRunAtATime(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	first, second := e.ofProvider.enter(consumerID), e.ofProvider.enter(consumerID)
	if first != second {
		t.Error("a peer has two sessions")
	}
	first.turn <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := e.ofProvider.Reconcile(ctx, request(consumerID)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	<-first.turn
	e.ofProvider.leave(consumerID, first, false)
	if len(e.ofProvider.sessions) != 1 {
		t.Error("a session that is used is forgotten")
	}
	e.ofProvider.leave(consumerID, second, false)
	if len(e.ofProvider.sessions) != 0 {
		t.Error("a peer without objects is remembered")
	}
}
