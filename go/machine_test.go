package liqoauth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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

func TestEachInvitationHasANonceOfItsOwn(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	var nonces []string
	for range 2 {
		step, err := pair.provider.Invite(t.Context(), newCluster().view("cl-consumer"))
		if err != nil {
			t.Fatal(err)
		}
		nonces = append(nonces, step.Outbox[0].Nonce)
	}
	if nonces[0] == nonces[1] {
		t.Error("two invitations have the same nonce")
	}
}

func TestABackendMayAnswerLater(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	answer := errors.New("the signer is down")
	pair.provider = library.Provider(ProviderConfig{
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
	_, tenant := pair.invite(t)
	step, err := pair.provider.Receive(t.Context(), pair.seenByProvider(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	pair.atProvider.apply(t, step)
	reconcile := func() (*Step, error) {
		for range 8 {
			step, err := pair.provider.Reconcile(t.Context(), pair.seenByProvider())
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

// The watches and the interests, compared with what an exchange stores: an API server that
// selects by them shows the whole exchange, and nothing in the namespace of another peer.
func TestWatchesAndInterestsSelectWhatAnExchangeStores(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	pair.authenticate(t)
	step, err := pair.consumer.RequestSlice(t.Context(), pair.seenByConsumer(), SliceOptions{Name: "mypool"})
	if err != nil {
		t.Fatal(err)
	}
	pair.atConsumer.apply(t, step)
	settle(t, pair.atConsumer, "cl-provider", nil, pair.consumer.Receive, pair.consumer.Reconcile)
	pair.replicate("mypool")
	pair.settleProvider(t)
	for _, side := range []struct {
		of interface {
			Watches(context.Context) ([]Watch, error)
			Interests(context.Context, liqov1beta1.ClusterID) ([]Interest, error)
		}
		at     *cluster
		peer   liqov1beta1.ClusterID
		record string
		kinds  []string
	}{
		{
			pair.provider, pair.atProvider, "cl-consumer", "liqo-auth-provider-cl-consumer",
			[]string{"Namespace", "ResourceSlice", "Secret", "Tenant"},
		},
		{
			pair.consumer, pair.atConsumer, "cl-provider", "liqo-auth-consumer-cl-provider",
			[]string{"Identity", "Namespace", "Renew", "ResourceSlice", "Secret"},
		},
	} {
		watches, err := side.of.Watches(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		interests, err := side.of.Interests(t.Context(), side.peer)
		if err != nil {
			t.Fatal(err)
		}
		ofOther, err := side.of.Interests(t.Context(), "cl-other")
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for place, content := range side.at.objects {
			object := &unstructured.Unstructured{Object: content}
			found[object.GetKind()] = true
			if !slices.ContainsFunc(watches, func(watch Watch) bool { return isWatched(t, watch, object) }) {
				t.Errorf("no watch shows %s", place)
			}
			isOf := func(interest Interest) bool { return isSelected(t, interest, object) }
			if !slices.ContainsFunc(interests, isOf) {
				t.Errorf("no interest in %s", place)
			}
			// Each peer's look-up has the tenant namespaces of all peers.
			if object.GetKind() != "Namespace" && slices.ContainsFunc(ofOther, isOf) {
				t.Errorf("%s is in the interest of another peer", place)
			}
		}
		if kinds := slices.Sorted(maps.Keys(found)); !slices.Equal(kinds, side.kinds) {
			t.Errorf("the exchange stores %v", kinds)
		}
		// The record is no peer's to write, so it is read by its name.
		record := Interest{Type: "object", Kind: "Secret", APIVersion: "v1", Namespace: "liqo", Name: side.record}
		if !slices.Contains(interests, record) {
			t.Errorf("no interest in the record: %+v", interests)
		}
	}
}

// plurals are the names of the resources, as an API server has them.
var plurals = map[string]string{
	"Namespace": "namespaces", "Secret": "secrets",
	"Tenant": "tenants", "Identity": "identities", "ResourceSlice": "resourceslices", "Renew": "renews",
	"Role": "roles", "RoleBinding": "rolebindings",
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
	"CertificateSigningRequest": "certificatesigningrequests", "NamespaceMap": "namespacemaps",
}

// isWatched selects as a watch of an API server does.
func isWatched(t *testing.T, watch Watch, object *unstructured.Unstructured) bool {
	t.Helper()
	if watch.Plural == "" || plurals[watch.Kind] != watch.Plural {
		t.Errorf("the plural of %+v", watch)
	}
	return isOfKind(watch.APIVersion, watch.Kind, object) &&
		(watch.Namespace == "" || watch.Namespace == object.GetNamespace()) &&
		hasLabels(t, watch.Selector, object)
}

// isSelected selects as a get or a list of an API server does.
func isSelected(t *testing.T, interest Interest, object *unstructured.Unstructured) bool {
	t.Helper()
	if !isOfKind(interest.APIVersion, interest.Kind, object) {
		return false
	}
	switch interest.Type {
	case "object":
		return interest.Namespace == object.GetNamespace() && interest.Name == object.GetName()
	case "named":
		return interest.Name == object.GetName()
	case "inNamespace":
		return interest.Namespace == "" || interest.Namespace == object.GetNamespace()
	case "labelled":
		return interest.Selector != "" && hasLabels(t, interest.Selector, object)
	default:
		t.Errorf("%+v", interest)
		return false
	}
}

func isOfKind(apiVersion, kind string, object *unstructured.Unstructured) bool {
	return object.GetAPIVersion() == apiVersion && object.GetKind() == kind
}

func hasLabels(t *testing.T, text string, object *unstructured.Unstructured) bool {
	t.Helper()
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return selector.Matches(labels.Set(object.GetLabels()))
}

func TestADenialMayBeWithoutWords(t *testing.T) {
	grant := &Grant{NodeLabels: map[string]string{"region": "europe"}}
	for want, value := range map[string]any{
		`{"message":"","reason":"","type":"deny"}`:                          SliceDecision{Type: "deny"},
		`{"type":"notMine"}`:                                                &SliceDecision{Type: "notMine", Reason: "x"},
		`{"grant":{"nodeLabels":{"region":"europe"}},"type":"grant"}`:       SliceDecision{Type: "grant", Grant: grant},
		`{"type":"denied","reason":""}`:                                     answerOf(nil, Denied{}),
		`{"type":"failed","reason":""}`:                                     answerOf(nil, errors.New("")),
		`{"type":"pending"}`:                                                answerOf(nil, ErrPending),
		`{"type":"ready"}`:                                                  answerOf(nil, nil),
		`{"type":"ready","value":{"message":"","reason":"","type":"deny"}}`: answerOf(&SliceDecision{Type: "deny"}, nil),
	} {
		found, err := json.Marshal(value)
		if err != nil || string(found) != want {
			t.Errorf("%v %s instead of %s", err, found, want)
		}
	}

	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	authority := newAuthority(t)
	config := ProviderConfig{ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem}
	asked := 0
	backends := Backends{
		Key:    &Key{Signer: newKey(t)},
		Names:  nobodyElse,
		Signer: authority.sign,
		Now:    testNow,
		Slices: func(_ context.Context, request SliceRequest) (*SliceDecision, error) {
			asked++
			switch request.Slice {
			case "denied":
				return nil, Denied{}
			case "granted":
				return &SliceDecision{Type: "grant", Grant: &Grant{
					NodeLabels:     map[string]string{"region": "europe"},
					StorageClasses: []liqov1beta1.StorageType{{StorageClassName: "fast", Default: true}},
				}}, nil
			default:
				return &SliceDecision{Type: "deny", Reason: "NoRoom"}, nil
			}
		},
	}
	pair.provider = library.Provider(config, pair.recordKey, backends)
	pair.authenticate(t)
	for _, name := range []string{"denied", "granted", "without-message"} {
		step, err := pair.consumer.RequestSlice(t.Context(), pair.seenByConsumer(), SliceOptions{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		pair.atConsumer.apply(t, step)
		settle(t, pair.atConsumer, "cl-provider", nil, pair.consumer.Receive, pair.consumer.Reconcile)
		pair.replicate(name)
		// A question that has no valid answer makes the step fail, or refuses.
		pair.settleProvider(t)
		found := ""
		for place, object := range pair.atProvider.objects {
			if strings.HasPrefix(place, "ResourceSlice/") && strings.HasSuffix(place, "/"+name) {
				status, err := json.Marshal(object["status"])
				if err != nil {
					t.Fatal(err)
				}
				found = string(status)
			}
		}
		want := `"status":"Denied"`
		if name == "granted" {
			want = `"storageClassName":"fast"`
		}
		if !strings.Contains(found, want) {
			t.Errorf("%s: %s", name, found)
		}
	}
	if asked < 3 {
		t.Errorf("asked %d times", asked)
	}

	// A denied approval ends in a denial, too.
	backends.Approver = func(context.Context, ApprovalRequest) error { return Denied{} }
	pair = newPair(t, library, newKey(t))
	pair.provider = library.Provider(config, pair.recordKey, backends)
	_, tenant := pair.invite(t)
	step, err := pair.provider.Receive(t.Context(), pair.seenByProvider(), tenant)
	for range 4 {
		if err != nil {
			t.Fatal(err)
		}
		pair.atProvider.apply(t, step)
		if len(step.Refused) > 0 {
			break
		}
		step, err = pair.provider.Reconcile(t.Context(), pair.seenByProvider())
	}
	if err != nil || len(step.Refused) != 1 || step.Refused[0].Error.Fault != "Policy" {
		t.Errorf("%v %+v", err, step)
	}
}

// The module signs nothing for a provider whose key it does not know of.
func TestTheModuleIsToldOfTheProvidersKey(t *testing.T) {
	library := newLibrary(t, Options{})
	key := &Key{Signer: newKey(t)}
	for _, backends := range []Backends{{Key: key}, {}} {
		form, err := library.Provider(ProviderConfig{}, [32]byte{}, backends).form()
		if err != nil {
			t.Fatal(err)
		}
		for name, told := range map[string][]byte{"a session": form.side, "a call": form.opening} {
			if found := bytes.Contains(told, []byte(`"key":`)); found != (backends.Key != nil) {
				t.Errorf("%s: %v with the key %v", name, found, backends.Key)
			}
		}
	}
}
