package liqoauth

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

const corpus = "../tests/vectors/corpus"

// corpusCase is an input with the verdict on it.
type corpusCase struct {
	ID                string                `json:"id"`
	Kind              string                `json:"kind"`
	Nonce             string                `json:"nonce"`
	Tenant            json.RawMessage       `json:"tenant"`
	KnownUsers        []string              `json:"knownUsers"`
	Now               time.Time             `json:"now"`
	ProviderClusterID liqov1beta1.ClusterID `json:"providerClusterID"`
	Consumer          struct {
		ClusterID  liqov1beta1.ClusterID `json:"clusterID"`
		PrivateKey string                `json:"privateKey"`
		ProxyURL   string                `json:"proxyURL"`
	} `json:"consumer"`
	Stored        *authv1beta1.Identity `json:"stored"`
	Identity      json.RawMessage       `json:"identity"`
	ResourceSlice map[string]any        `json:"resourceSlice"`
	Expect        map[string]string     `json:"expect"`
}

// judge returns why an input is refused.
type judge struct {
	library *Library
	policy  Policy
}

func TestEveryVerdictOfTheCorpus(t *testing.T) {
	library := newLibrary(t, Options{})
	files, err := filepath.Glob(corpus + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no corpus", err)
	}
	held, notRun := 0, map[string]int{}
	for _, file := range files {
		var input corpusCase
		if raw := readFile(t, file); json.Unmarshal(raw, &input) != nil {
			t.Fatalf("%s: %v", file, json.Unmarshal(raw, &input))
		}
		for name, forms := range map[string]Forms{"strict": Canonical, "compat": Compatible} {
			j := judge{library, Policy{Forms: forms}}
			var refusal error
			switch input.Kind {
			case "tenant":
				_, _, refusal = j.tenant(t, input)
			case "identity":
				refusal = j.identity(t, input)
			case "nonce-to-sign":
				refusal = j.nonce(t, input)
			case "resourceslice":
				refusal = j.slice(t, input)
			default:
				notRun[input.Kind]++
				continue
			}
			if accepted := refusal == nil; accepted != (input.Expect[name] == "accept") {
				t.Errorf("%s, %s: expected %s, found %v", input.ID, name, input.Expect[name], refusal)
				continue
			}
			var failure *Error
			if errors.As(refusal, &failure) && !isAboutThePeer(failure) {
				t.Errorf("%s, %s: refused for no fault of its own: %v", input.ID, name, failure)
			}
			held++
		}
	}
	t.Logf("%d verdicts hold; not run: %v", held, notRun)
	// The module has no legacy token protocol.
	if kinds := slices.Collect(maps.Keys(notRun)); len(kinds) > 1 || len(kinds) == 1 && kinds[0] != "legacy-token" {
		t.Errorf("not run: %v", notRun)
	}
}

func isAboutThePeer(failure *Error) bool {
	return slices.Contains([]string{"PeerMisbehaved", "PeerIncompatible", "Policy"}, failure.Fault)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tenant reports whether a provider has the request of this Tenant signed.
func (j judge) tenant(t *testing.T, input corpusCase) (*Provider, *cluster, error) {
	var tenant authv1beta1.Tenant
	if err := json.Unmarshal(input.Tenant, &tenant); err != nil {
		return nil, nil, err
	}
	peer := tenant.Spec.ClusterID
	at := newCluster()
	at.put(object("v1", "Namespace", "", "liqo-tenant-"+string(peer), map[string]any{
		"liqo.io/remote-cluster-id": string(peer),
		"liqo.io/tenant-namespace":  "true",
	}))
	secret := object("v1", "Secret", "liqo-tenant-"+string(peer), "liqo-nonce", nil)
	secret["data"] = map[string]any{"nonce": base64.StdEncoding.EncodeToString([]byte(input.Nonce))}
	at.put(secret)
	authority := newAuthority(t)
	provider := j.library.Provider(ProviderConfig{
		ClusterID:   "cl-provider",
		APIServer:   "https://172.19.0.3:6443",
		APIServerCA: authority.pem,
		Policy:      j.policy,
	}, [32]byte{1}, Backends{
		Signer: authority.sign,
		Now:    testNow,
		Names: func(_ context.Context, request NameRequest) (bool, error) {
			return slices.Contains(input.KnownUsers, request.Name), nil
		},
	})
	// A name that is none cannot be a peer: only verification alone says what is wrong.
	arguments := map[string]any{"tenant": input.Tenant, "nonce": []byte(input.Nonce), "policy": j.policy}
	if err := j.library.call(t.Context(), "verifyTenant", arguments, nil); errors.Is(err, Code("cluster-id-malformed")) {
		return nil, nil, err
	}
	// Liqo made the nonce, so the embedder vouches for it.
	var vouched []string
	nonce := map[string]any{"nonce": []byte(input.Nonce), "policy": j.policy}
	if j.library.call(t.Context(), "checkNonce", nonce, nil) == nil {
		vouched = []string{input.Nonce}
	}
	message := map[string]any{"from": peer, "to": "cl-provider", "type": "tenant", "tenant": input.Tenant}
	step, err := provider.step(t.Context(), at.view(peer, vouched...), Order{map[string]any{"receive": message}})
	if err != nil {
		return nil, nil, err
	}
	at.apply(t, step)
	if err := j.settle(t, provider, at, peer, vouched); err != nil {
		return nil, nil, err
	}
	if at.objects[place("Secret", "liqo-tenant-"+string(peer), "liqo-remote-certificate")] == nil {
		t.Errorf("%s: taken, and not signed: %v", input.ID, slices.Sorted(maps.Keys(at.objects)))
	}
	return provider, at, nil
}

// settle lets the provider work, and returns its last refusal.
func (j judge) settle(t *testing.T, provider *Provider, at *cluster, peer liqov1beta1.ClusterID, vouched []string) error {
	var refused error
	for range 6 {
		step, err := provider.Reconcile(t.Context(), at.view(peer, vouched...))
		if err != nil {
			return err
		}
		at.apply(t, step)
		refused = nil
		if len(step.Refused) > 0 {
			refused = step.Refused[0].Error
		}
	}
	return refused
}

// slice reports whether the provider has the request of this slice signed.
func (j judge) slice(t *testing.T, input corpusCase) error {
	var consumer corpusCase
	if err := json.Unmarshal(readFile(t, corpus+"/T000-honest-ed25519.json"), &consumer); err != nil {
		t.Fatal(err)
	}
	consumer.KnownUsers = input.KnownUsers
	provider, at, err := j.tenant(t, consumer)
	if err != nil {
		t.Fatal(err)
	}
	var tenant authv1beta1.Tenant
	if err := json.Unmarshal(consumer.Tenant, &tenant); err != nil {
		t.Fatal(err)
	}
	peer := tenant.Spec.ClusterID
	metadata, _ := input.ResourceSlice["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	labels["liqo.io/replication"] = "false"
	labels["liqo.io/replicated"] = "true"
	labels["liqo.io/remoteID"] = "cl-provider"
	labels["liqo.io/originID"] = string(peer)
	spec, _ := input.ResourceSlice["spec"].(map[string]any)
	if spec["providerClusterID"] == nil {
		spec["providerClusterID"] = "cl-provider"
	}
	at.put(input.ResourceSlice)
	if err := j.settle(t, provider, at, peer, []string{consumer.Nonce}); err != nil {
		return err
	}
	slice := at.objects[place("ResourceSlice", fmt.Sprint(metadata["namespace"]), fmt.Sprint(metadata["name"]))]
	status, _ := slice["status"].(map[string]any)
	given, _ := status["authParams"].(map[string]any)
	if given["signedCRT"] == nil {
		t.Errorf("%s: neither refused nor signed: %v", input.ID, status)
	}
	return nil
}

// identity reports whether the consumer stores this Identity, and can use it.
func (j judge) identity(t *testing.T, input corpusCase) error {
	block, _ := pem.Decode([]byte(input.Consumer.PrivateKey))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	consumer := j.library.Consumer(ConsumerConfig{
		ClusterID: input.Consumer.ClusterID,
		Policy:    j.policy,
		Peers: map[liqov1beta1.ClusterID]ProviderSettings{
			input.ProviderClusterID: {ProxyURL: input.Consumer.ProxyURL},
		},
	}, Key{Signer: key.(crypto.Signer), File: "/key.pem"}, func() time.Time { return input.Now })
	at := newCluster()
	identities := []json.RawMessage{input.Identity}
	if input.Stored != nil {
		stored, err := json.Marshal(input.Stored)
		if err != nil {
			t.Fatal(err)
		}
		identities = slices.Insert(identities, 0, stored)
	}
	for _, identity := range identities {
		message := map[string]any{
			"from": input.ProviderClusterID, "to": input.Consumer.ClusterID,
			"type": "identity", "identity": identity,
		}
		step, err := consumer.step(t.Context(), at.view(input.ProviderClusterID), Order{map[string]any{"receive": message}})
		if err != nil {
			return err
		}
		at.apply(t, step)
		step, err = consumer.Reconcile(t.Context(), at.view(input.ProviderClusterID))
		if err != nil {
			return err
		}
		if len(step.Refused) > 0 || len(step.Effects) == 0 {
			t.Errorf("%s: stored, and not usable: %+v", input.ID, step)
		}
		at.apply(t, step)
	}
	return nil
}

// nonce reports whether the consumer signs this text.
func (j judge) nonce(t *testing.T, input corpusCase) error {
	nonce, err := base64.StdEncoding.DecodeString(input.Nonce)
	if err != nil {
		t.Fatal(err)
	}
	arguments := map[string]any{"nonce": nonce, "policy": j.policy}
	if err := j.library.call(t.Context(), "checkNonce", arguments, nil); err != nil {
		return err
	}
	consumer := j.library.Consumer(ConsumerConfig{ClusterID: "cl-consumer", Policy: j.policy}, Key{Signer: newKey(t)}, testNow)
	at := newCluster()
	// As another program puts it there for a controller to sign.
	secret := object("v1", "Secret", "liqo-tenant-cl-provider", "liqo-signed-nonce", nil)
	secret["data"] = map[string]any{"nonce": input.Nonce}
	at.put(secret)
	step, err := consumer.Reconcile(t.Context(), at.view("cl-provider"))
	if err != nil {
		return err
	}
	if len(step.Refused) > 0 {
		return step.Refused[0].Error
	}
	if len(step.Outbox) != 1 {
		t.Errorf("%s: neither refused nor signed", input.ID)
	}
	return nil
}

func object(apiVersion, kind, namespace, name string, labels map[string]any) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	if labels != nil {
		metadata["labels"] = labels
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}
