package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// publish has the provider's API server say that it lets clients of this CA in.
func (e *exchange) publish(t *testing.T, authority string) {
	t.Helper()
	object := metav1.ObjectMeta{Namespace: clientCAsAt.Namespace, Name: clientCAsAt.Name}
	said := &corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{"client-ca-file": authority}}
	err := e.atProvider.Update(t.Context(), said)
	if err != nil {
		err = e.atProvider.Create(t.Context(), said)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatNoClientCAHasIssuedIsSignedAnew(t *testing.T) {
	first, signFirst := signer(t)
	second, signSecond := signer(t)
	sign, signed, late := signFirst, 0, time.Duration(0)
	isForbidden := false
	e := newExchange(t, liqoauth.Backends{
		Signer: func(ctx context.Context, request liqoauth.SigningRequest) (string, error) {
			signed++
			return sign(ctx, request)
		},
		Now: func() time.Time { return time.Now().Add(late) },
	}, interceptor.Funcs{
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if isForbidden && key == clientCAsAt {
				return errors.New("forbidden")
			}
			return from.Get(ctx, key, object, options...)
		},
	})
	e.invite(t)
	cas := &clientCAs{provider: e.provider, reader: e.atProvider}
	look := func(isChange bool, want int) {
		t.Helper()
		if found := cas.read(t.Context()); found != isChange {
			t.Errorf("a change: %v", found)
		}
		for range 4 {
			if err := e.round(t); err != nil {
				t.Fatal(err)
			}
		}
		if signed != want || !e.isAuthenticated(t) {
			t.Errorf("signed %d times instead of %d", signed, want)
		}
	}
	look(false, 1)
	e.publish(t, first)
	look(true, 1)
	look(false, 1)

	sign, late = signSecond, time.Minute
	e.publish(t, second)
	isForbidden = true
	look(false, 1)
	isForbidden = false
	look(true, 2)
	look(false, 2)
}

func TestEachKnownPeerIsLookedAtAfterAChangeOfTheClientCAs(t *testing.T) {
	e := authenticated(t, interceptor.Funcs{})
	authority, _ := signer(t)
	ctx, cancel := context.WithCancel(t.Context())
	changed, ended := make(chan event.GenericEvent), make(chan error)
	cas := &clientCAs{provider: e.provider, reader: e.atProvider}
	go func() { ended <- e.ofProvider.follow(ctx, cas, time.Millisecond, changed) }()
	for _, said := range []string{authority, ""} {
		e.publish(t, said)
		found := byName(t.Context(), (<-changed).Object)
		if len(found) != 1 || found[0] != request(consumerID) {
			t.Errorf("%v", found)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
