package liqoauth

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const honestNonce = "rfmPVYvCGQibAyhXdgND2SeJihfBYIMOtekiXasW7RPTMwoGlBFhts7i+c1suHxupxy8gGXDJsr/kjs+EJa9XQ=="

// cluster is the objects of one cluster. It applies effects as an API server does.
type cluster struct {
	objects  map[string]map[string]any
	revision int
	// applied is told of each effect, if it is set.
	applied func(Effect)
}

func newCluster() *cluster { return &cluster{objects: map[string]map[string]any{}} }

func (c *cluster) view(peer liqov1beta1.ClusterID, vouched ...string) View {
	view := View{Peer: peer, VouchedNonces: vouched}
	for _, object := range c.objects {
		view.Objects = append(view.Objects, runtime.Object(&unstructured.Unstructured{Object: object}))
	}
	return view
}

func place(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

func (c *cluster) put(object map[string]any) {
	c.revision++
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	if metadata["uid"] == nil {
		metadata["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012x", c.revision)
	}
	metadata["resourceVersion"] = fmt.Sprint(c.revision)
	text := func(value any) string { s, _ := value.(string); return s }
	c.objects[place(text(object["kind"]), text(metadata["namespace"]), text(metadata["name"]))] = object
}

func (c *cluster) apply(t testing.TB, step *Step) {
	t.Helper()
	for _, effect := range step.Effects {
		switch effect.Type {
		case "create", "replace":
			var object map[string]any
			if err := json.Unmarshal(effect.Object, &object); err != nil {
				t.Fatal(err)
			}
			c.put(object)
		case "patch":
			var patch map[string]any
			if err := json.Unmarshal(effect.Patch, &patch); err != nil {
				t.Fatal(err)
			}
			object := c.objects[place(effect.ID.Kind, effect.ID.Namespace, effect.ID.Name)]
			if object == nil {
				t.Fatalf("a patch of %s, which is not there", effect.ID)
			}
			merge(object, patch)
			c.put(object)
		case "delete":
			delete(c.objects, place(effect.ID.Kind, effect.ID.Namespace, effect.ID.Name))
		default:
			t.Fatalf("effect %q", effect.Type)
		}
		if effect.Request.Method == "" || effect.Request.Path == "" {
			t.Fatalf("effect without a request: %+v", effect)
		}
		if c.applied != nil {
			c.applied(effect)
		}
	}
}

// merge applies a JSON merge patch (RFC 7396).
func merge(object, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap:
			found, _ := object[key].(map[string]any)
			if found == nil {
				found = map[string]any{}
				object[key] = found
			}
			merge(found, inner)
		default:
			object[key] = value
		}
	}
}

// testNow is the present of the corpus.
func testNow() time.Time { return time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC) }

// authority signs requests, as Kubernetes' own signer does.
type authority struct {
	key         ed25519.PrivateKey
	certificate *x509.Certificate
	pem         string
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kubernetes"},
		NotBefore:             testNow().Add(-time.Hour),
		NotAfter:              testNow().AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return &authority{key: key, certificate: certificate, pem: string(encoded)}
}

func (a *authority) sign(_ context.Context, request SigningRequest) (string, error) {
	block, _ := pem.Decode([]byte(request.CSR))
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "", err
	}
	if err := csr.CheckSignature(); err != nil {
		return "", err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		RawSubject:            csr.RawSubject,
		NotBefore:             request.Now.Add(-5 * time.Minute),
		NotAfter:              request.Now.Add(time.Duration(request.LifetimeSeconds) * time.Second),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, csr.PublicKey, a.key)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

func nobodyElse(context.Context, NameRequest) (bool, error) { return false, nil }

// pair is a provider and a consumer, with their clusters.
type pair struct {
	provider               *Provider
	consumer               *Consumer
	atProvider, atConsumer *cluster
	recordKey              [32]byte
}

func newPair(t testing.TB, library *Library, consumerKey crypto.Signer) *pair {
	t.Helper()
	return newPairAt(t, library, consumerKey, testNow)
}

// newPairAt is a pair with this clock.
func newPairAt(t testing.TB, library *Library, consumerKey crypto.Signer, now func() time.Time) *pair {
	t.Helper()
	authority := newAuthority(t)
	p := &pair{atProvider: newCluster(), atConsumer: newCluster()}
	if _, err := rand.Read(p.recordKey[:]); err != nil {
		t.Fatal(err)
	}
	config := ProviderConfig{
		ClusterID:   "cl-provider",
		APIServer:   "https://172.19.0.3:6443",
		APIServerCA: authority.pem,
	}
	p.provider = library.Provider(config, p.recordKey, Backends{
		Key:    &Key{Signer: newKey(t)},
		Names:  nobodyElse,
		Signer: authority.sign,
		Now:    now,
	})
	key := Key{Signer: consumerKey, File: "/var/lib/liqo/key.pem"}
	p.consumer = library.Consumer(ConsumerConfig{ClusterID: "cl-consumer"}, key, now)
	return p
}

// invite invites the consumer. It returns the nonce, and the Tenant that the consumer
// makes of it.
func (p *pair) invite(t testing.TB) (nonce string, tenant Message) {
	t.Helper()
	step, err := p.provider.Invite(t.Context(), p.atProvider.view("cl-consumer"))
	if err != nil {
		t.Fatal(err)
	}
	p.atProvider.apply(t, step)
	tenants := settle(t, p.atConsumer, "cl-provider", step.Outbox, p.consumer.Receive, p.consumer.Reconcile)
	if len(tenants) != 1 || tenants[0].Tenant == nil {
		t.Fatalf("%+v instead of a Tenant", tenants)
	}
	return step.Outbox[0].Nonce, tenants[0]
}

// authenticate makes a whole exchange.
func (p *pair) authenticate(t testing.TB) {
	t.Helper()
	_, tenant := p.invite(t)
	toProvider := []Message{tenant}
	for round := 0; round < 8 && len(toProvider) > 0; round++ {
		toConsumer := settle(t, p.atProvider, "cl-consumer", toProvider, p.provider.Receive, p.provider.Reconcile)
		toProvider = settle(t, p.atConsumer, "cl-provider", toConsumer, p.consumer.Receive, p.consumer.Reconcile)
	}
	if !p.isAuthenticated(t) {
		t.Fatal("the exchange does not end")
	}
}

func (p *pair) isAuthenticated(t testing.TB) bool {
	t.Helper()
	at, err := p.consumer.Look(t.Context(), p.atConsumer.view("cl-provider"))
	if err != nil {
		t.Fatal(err)
	}
	return at.ControlPlane.Stage == "authenticated"
}

type (
	receive   = func(context.Context, View, Message) (*Step, error)
	reconcile = func(context.Context, View) (*Step, error)
)

// settle delivers messages to one side, and reconciles it until nothing is left to do.
func settle(t testing.TB, c *cluster, peer liqov1beta1.ClusterID, messages []Message,
	receive receive, reconcile reconcile,
) []Message {
	t.Helper()
	for _, message := range messages {
		step, err := receive(t.Context(), c.view(peer), message)
		if err != nil {
			t.Fatal(err)
		}
		c.apply(t, step)
	}
	for range 16 {
		step, err := reconcile(t.Context(), c.view(peer))
		if err != nil {
			t.Fatal(err)
		}
		for _, refused := range step.Refused {
			t.Errorf("refused: %v", refused.Error)
		}
		c.apply(t, step)
		if step.IsSettled() {
			return step.Outbox
		}
	}
	t.Fatal("the side does not settle")
	return nil
}
