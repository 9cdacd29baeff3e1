package controller

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sync/atomic"
	"testing"
	"time"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

var library *liqoauth.Library

func TestMain(m *testing.M) {
	var err error
	if library, err = liqoauth.New(context.Background(), liqoauth.Options{}); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const (
	providerID liqov1beta1.ClusterID = "cl-provider"
	consumerID liqov1beta1.ClusterID = "cl-consumer"
)

// newCluster is an API server in memory. Like a real one, it gives each object a UID.
func newCluster(t *testing.T, intercept interceptor.Funcs) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		authv1beta1.AddToScheme, certificatesv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var count atomic.Int64
	if intercept.Create == nil {
		intercept.Create = func(ctx context.Context, to client.WithWatch, object client.Object, options ...client.CreateOption) error {
			object.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", count.Add(1))))
			return to.Create(ctx, object, options...)
		}
	}
	// The approval of a request is a part of its status. The client in memory knows
	// only the subresource of the status.
	intercept.SubResourcePatch = func(ctx context.Context, to client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
		if part == "approval" {
			part = "status"
		}
		return to.SubResource(part).Patch(ctx, object, patch, options...)
	}
	build := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(intercept).
		WithStatusSubresource(&authv1beta1.Tenant{}, &authv1beta1.Identity{}, &authv1beta1.ResourceSlice{}, &authv1beta1.Renew{},
			&certificatesv1.CertificateSigningRequest{})
	name := func(object client.Object) []string { return []string{object.GetName()} }
	for _, kind := range []client.Object{
		&authv1beta1.Tenant{}, &authv1beta1.Identity{}, &authv1beta1.Renew{},
		&rbacv1.RoleBinding{}, &certificatesv1.CertificateSigningRequest{},
	} {
		build = build.WithIndex(kind, "metadata.name", name)
	}
	return build.Build()
}

func newReconciler(t *testing.T, side Side, cluster client.Client, deliver func(context.Context, liqoauth.Message) error) *Reconciler {
	t.Helper()
	reconciler, err := New(t.Context(), Config{Side: side, Reader: cluster, Writer: cluster, Deliver: deliver})
	if err != nil {
		t.Fatal(err)
	}
	return reconciler
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signer signs requests with a new authority.
func signer(t *testing.T) (authority string, sign func(context.Context, liqoauth.SigningRequest) (string, error)) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return inPEM(der), func(_ context.Context, request liqoauth.SigningRequest) (string, error) {
		block, _ := pem.Decode([]byte(request.CSR))
		csr, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return "", err
		}
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(2), RawSubject: csr.RawSubject,
			NotBefore: request.Now.Add(-5 * time.Minute),
			NotAfter:  request.Now.Add(time.Duration(request.LifetimeSeconds) * time.Second),
			KeyUsage:  x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			BasicConstraintsValid: true,
		}
		der, err := x509.CreateCertificate(rand.Reader, leaf, template, csr.PublicKey, key)
		return inPEM(der), err
	}
}

// exchange is a provider and a consumer whose messages wait in queues.
type exchange struct {
	provider               *liqoauth.Provider
	consumer               *liqoauth.Consumer
	ofProvider, ofConsumer *Reconciler
	atProvider, atConsumer client.WithWatch
	toProvider, toConsumer []liqoauth.Message
	failingDeliveries      int
	deliveries             int
	lastProvider           reconcile.Result
}

func newExchange(t *testing.T, backends liqoauth.Backends, atProvider interceptor.Funcs) *exchange {
	t.Helper()
	authority, sign := signer(t)
	if backends.Signer == nil {
		backends.Signer = sign
	}
	backends.Names = func(context.Context, liqoauth.NameRequest) (bool, error) { return false, nil }
	e := &exchange{atProvider: newCluster(t, atProvider), atConsumer: newCluster(t, interceptor.Funcs{})}
	e.provider = library.Provider(liqoauth.ProviderConfig{
		ClusterID: providerID, APIServer: "https://172.19.0.3:6443", APIServerCA: authority,
	}, [32]byte{7}, backends)
	e.consumer = library.Consumer(liqoauth.ConsumerConfig{ClusterID: consumerID}, liqoauth.Key{
		Signer: newKey(t), File: "/var/lib/liqo/key.pem",
	}, nil)
	queue := func(to *[]liqoauth.Message) func(context.Context, liqoauth.Message) error {
		return func(_ context.Context, message liqoauth.Message) error {
			if e.failingDeliveries > 0 {
				e.failingDeliveries--
				return errors.New("the peer cannot be reached")
			}
			e.deliveries++
			*to = append(*to, message)
			return nil
		}
	}
	e.ofProvider = newReconciler(t, e.provider, e.atProvider, queue(&e.toConsumer))
	e.ofConsumer = newReconciler(t, e.consumer, e.atConsumer, queue(&e.toProvider))
	return e
}

func request(peer liqov1beta1.ClusterID) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: string(peer)}}
}

// round delivers the waiting messages, and reconciles both sides once.
func (e *exchange) round(t *testing.T) error {
	t.Helper()
	take := func(to *Reconciler, queue *[]liqoauth.Message) {
		messages := *queue
		*queue = nil
		for _, message := range messages {
			if err := to.Receive(t.Context(), message); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(e.ofConsumer, &e.toConsumer)
	_, atConsumer := e.ofConsumer.Reconcile(t.Context(), request(providerID))
	take(e.ofProvider, &e.toProvider)
	result, atProvider := e.ofProvider.Reconcile(t.Context(), request(consumerID))
	e.lastProvider = result
	return errors.Join(atConsumer, atProvider)
}

func (e *exchange) invite(t *testing.T) {
	t.Helper()
	if _, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderInvite()); err != nil {
		t.Fatal(err)
	}
}

func (e *exchange) isAuthenticated(t *testing.T) bool {
	t.Helper()
	view, err := e.ofConsumer.view(t.Context(), providerID)
	if err != nil {
		t.Fatal(err)
	}
	status, err := e.consumer.Look(t.Context(), view)
	if err != nil {
		t.Fatal(err)
	}
	return status.ControlPlane.Stage == "authenticated"
}

// kubeconfig is the Secret that the exchange leads to.
var kubeconfig = client.ObjectKey{
	Namespace: "liqo-tenant-cl-provider", Name: "kubeconfig-controlplane-cl-provider",
}

func TestAnExchange(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	e.invite(t)
	for range 4 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if !e.isAuthenticated(t) {
		t.Fatal("the consumer is not authenticated")
	}
	if err := e.atConsumer.Get(t.Context(), kubeconfig, &corev1.Secret{}); err != nil {
		t.Error(err)
	}
	if e.lastProvider.RequeueAfter <= 0 {
		t.Error("nothing wakes the provider for the renewal")
	}
	// Nonce, Tenant and Identity. A settled peer gets no message again.
	if e.deliveries != 3 {
		t.Errorf("%d deliveries", e.deliveries)
	}

	// An order without messages does not repeat them either.
	step, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderSetCondition("Cordoned"))
	if err != nil || step.IsSettled() {
		t.Fatalf("%v %+v", err, step)
	}
	if err := e.round(t); err != nil || e.deliveries != 3 {
		t.Errorf("%v, %d deliveries", err, e.deliveries)
	}

	if _, err := e.ofConsumer.Order(t.Context(), providerID, liqoauth.OrderUnauthenticate()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderEnd()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if e.isAuthenticated(t) {
		t.Error("the peering has not ended")
	}
	tenants := &authv1beta1.TenantList{}
	if err := e.atProvider.List(t.Context(), tenants); err != nil || len(tenants.Items) != 0 {
		t.Errorf("%v, %d Tenants", err, len(tenants.Items))
	}
}

// authenticated is an exchange that has ended.
func authenticated(t *testing.T, atProvider interceptor.Funcs) *exchange {
	t.Helper()
	e := newExchange(t, liqoauth.Backends{}, atProvider)
	e.invite(t)
	for range 4 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if !e.isAuthenticated(t) {
		t.Fatal("the consumer is not authenticated")
	}
	return e
}

func TestAMessageIsDeliveredAgainAfterARestart(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	e.invite(t)
	reconcile := func() {
		t.Helper()
		if _, err := e.ofProvider.Reconcile(t.Context(), request(consumerID)); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	if e.deliveries != 1 {
		t.Errorf("%d deliveries", e.deliveries)
	}
	e.ofProvider = newReconciler(t, e.provider, e.atProvider, e.ofProvider.Deliver)
	reconcile()
	reconcile()
	if e.deliveries != 2 {
		t.Errorf("%d deliveries after a restart", e.deliveries)
	}
	for range 4 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if !e.isAuthenticated(t) {
		t.Error("the consumer is not authenticated")
	}
}

func TestAFailedDeliveryIsRepeated(t *testing.T) {
	e := newExchange(t, liqoauth.Backends{}, interceptor.Funcs{})
	e.failingDeliveries = 1
	if _, err := e.ofProvider.Order(t.Context(), consumerID, liqoauth.OrderInvite()); err == nil {
		t.Fatal("the failure is hidden")
	}
	for range 4 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if !e.isAuthenticated(t) {
		t.Error("the consumer is not authenticated")
	}
}

func TestAPendingBackendIsAskedAgain(t *testing.T) {
	_, sign := signer(t)
	answer := liqoauth.ErrPending
	e := newExchange(t, liqoauth.Backends{
		Signer: func(ctx context.Context, request liqoauth.SigningRequest) (string, error) {
			if answer != nil {
				return "", answer
			}
			return sign(ctx, request)
		},
	}, interceptor.Funcs{})
	e.invite(t)
	for range 2 {
		if err := e.round(t); err != nil {
			t.Fatal(err)
		}
	}
	if e.lastProvider.RequeueAfter != 10*time.Second {
		t.Errorf("%+v", e.lastProvider)
	}
	// A backend that fails is asked again by the delays of the queue.
	answer = errors.New("the signer is down")
	var refused *liqoauth.Error
	if err := e.round(t); !errors.As(err, &refused) || refused.Disposition != "retry" {
		t.Errorf("%v", err)
	}
}
