package liqoauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"strings"
	"testing"
)

func TestAnExchangeWithEveryKindOfKey(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]crypto.Signer{"Ed25519": newKey(t), "RSA": rsaKey}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys[curve.Params().Name] = key
	}
	library := newLibrary(t, Options{})
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			pair := newPair(t, library, key)
			pair.authenticate(t)
			secret := pair.atConsumer.objects["Secret/liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider"]
			if secret == nil {
				t.Error("there is no kubeconfig")
			}
		})
	}
}

func TestABackendMayAnswerLater(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	answer := errors.New("the signer is down")
	provider := library.Provider(ProviderConfig{
		ClusterID:   "cl-provider",
		APIServer:   "https://172.19.0.3:6443",
		APIServerCA: authority.pem,
	}, pair.recordKey, Backends{
		Names: nobodyElse,
		Now:   testNow,
		Signer: func(ctx context.Context, request SigningRequest) (string, error) {
			if answer != nil {
				return "", answer
			}
			return authority.sign(ctx, request)
		},
	})
	step, err := provider.Invite(t.Context(), pair.atProvider.view("cl-consumer"))
	if err != nil {
		t.Fatal(err)
	}
	pair.atProvider.apply(t, step)
	tenants := settle(t, pair.atConsumer, "cl-provider", step.Outbox, pair.consumer.Receive, pair.consumer.Reconcile)
	for _, tenant := range tenants {
		step, err := provider.Receive(t.Context(), pair.atProvider.view("cl-consumer"), tenant)
		if err != nil {
			t.Fatal(err)
		}
		pair.atProvider.apply(t, step)
	}
	reconcile := func() (*Step, error) {
		for range 8 {
			step, err := provider.Reconcile(t.Context(), pair.atProvider.view("cl-consumer"))
			if err != nil || step.IsSettled() {
				return step, err
			}
			pair.atProvider.apply(t, step)
		}
		t.Fatal("the provider does not settle")
		return nil, nil
	}
	step, err = reconcile()
	var failure *Error
	if err == nil && len(step.Refused) > 0 {
		err = step.Refused[0].Error
	}
	if !errors.As(err, &failure) || failure.Disposition != "retry" || strings.Contains(failure.Message, "down") {
		t.Fatalf("%v", err)
	}
	answer = ErrPending
	step, err = reconcile()
	if err != nil || len(step.Wait.Awaiting) == 0 {
		t.Fatalf("%v %+v", err, step)
	}
	answer = nil
	step, err = reconcile()
	if err != nil || len(step.Outbox) != 1 || step.Outbox[0].Identity == nil {
		t.Fatalf("%v %+v", err, step)
	}
}

func TestWatchesAndInterests(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	watches, err := pair.provider.Watches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, watch := range watches {
		found = found || watch.Plural == "tenants" && watch.APIVersion == "authentication.liqo.io/v1beta1"
	}
	if !found {
		t.Errorf("%+v", watches)
	}
	interests, err := pair.consumer.Interests(t.Context(), "cl-provider")
	if err != nil || len(interests) == 0 {
		t.Errorf("%v %+v", err, interests)
	}
}
