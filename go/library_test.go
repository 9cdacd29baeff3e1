package liqoauth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The tests share one compiled module: each test that stops or fills instances makes
// instances of its own anyway.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "liqoauth")
	if err != nil {
		panic(err)
	}
	library, err := New(context.Background(), Options{CacheDir: folder})
	if err != nil {
		panic(err)
	}
	SetDefault(library)
	cacheDir = folder
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

var cacheDir string

// newLibrary returns a Library with the compiled module of the other tests.
func newLibrary(t testing.TB, options Options) *Library {
	t.Helper()
	options.CacheDir = cacheDir
	library, err := New(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = library.Close(context.Background()) })
	return library
}

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicDER(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestSixteenGoroutinesShareALibrary(t *testing.T) {
	library := newLibrary(t, Options{Instances: 4})
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			key := newKey(t)
			der := publicDER(t, key.Public())
			for range 20 {
				csr, err := library.GenerateCSRForControlPlane(t.Context(), key, "cl-consumer")
				if err != nil {
					t.Error(err)
					return
				}
				if err := library.CheckCSRForControlPlane(t.Context(), csr, der, "cl-consumer"); err != nil {
					t.Error(err)
				}
				err = library.CheckCSRForControlPlane(t.Context(), csr, der, "cl-other")
				if !errors.Is(err, Code("csr-refused")) {
					t.Errorf("a request of another cluster: %v", err)
				}
			}
		})
	}
	group.Wait()
	if len(library.idle) == 0 {
		t.Error("no instance is kept")
	}
}

func TestATrapEndsOneCallAlone(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	// More than the memory of an instance.
	_, err := library.exchange(t.Context(), make([]byte, 160<<20))
	if !errors.Is(err, ErrTrap) {
		t.Fatalf("%v", err)
	}
	if len(library.idle) != 0 {
		t.Error("the stopped instance is kept")
	}
	key := newKey(t)
	if _, err := library.GenerateCSRForControlPlane(t.Context(), key, "cl-consumer"); err != nil {
		t.Error(err)
	}
}

func TestCancellationEndsACall(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := library.SignNonce(cancelled, newKey(t), []byte("x"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}

	// The test of the modulus takes long enough to be interrupted.
	key, err := rsa.GenerateKey(rand.Reader, 4096)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER(t, key.Public())})
	prime := func() time.Duration {
		before := time.Now()
		if _, _, err := library.ParseTenantPublicKey(t.Context(), public); err != nil {
			t.Fatal(err)
		}
		return time.Since(before)
	}
	prime()
	usual := prime()
	interrupt := func() {
		// A call that is quicker than its deadline leaves the idle instance where it is: then
		// the next try follows, with less time, since the machine may have been busy before.
		for try := range 100 {
			short, cancel := context.WithTimeout(t.Context(), usual/time.Duration(4+try))
			_, _, err := library.ParseTenantPublicKey(short, public)
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("try %d: %v", try, err)
			}
			if err != nil && len(library.idle) == 0 {
				return
			}
		}
		t.Fatal("no call was left at the end of its context")
	}
	interrupt()
	if _, _, err := library.ParseTenantPublicKey(t.Context(), public); err != nil {
		t.Errorf("after a cancelled call: %v", err)
	}

	// The call goes on in the background. Close waits until it has given its instance back.
	interrupt()
	if err := library.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(library.idle) != 1 {
		t.Error("Close did not wait")
	}
}

// isWiped reports whether a buffer holds zeros alone.
func isWiped(buffer []byte) bool { return len(bytes.Trim(buffer, "\x00")) == 0 }

func TestARequestAndItsAnswerAreWiped(t *testing.T) {
	library := newLibrary(t, Options{})
	var buffers [][]byte
	carry := func(ctx context.Context, request []byte) ([]byte, error) {
		answer, err := library.exchange(ctx, request)
		if isWiped(request) || isWiped(answer) {
			t.Error("a buffer is empty")
		}
		buffers = append(buffers, request, answer)
		return answer, err
	}
	library.carry = carry
	newPair(t, library, newKey(t)).authenticate(t)
	// A refusal.
	if _, _, err := library.ParseTenantPublicKey(t.Context(), []byte("x")); err == nil {
		t.Error("no key is a key")
	}
	// An answer that cannot be read, and a failure.
	for _, failure := range []error{nil, errors.New("the module stopped")} {
		library.carry = func(_ context.Context, request []byte) ([]byte, error) {
			answer := []byte("no JSON")
			buffers = append(buffers, request)
			if failure == nil {
				buffers = append(buffers, answer)
			}
			return answer, failure
		}
		if _, err := library.SignNonce(t.Context(), newKey(t), []byte(honestNonce)); err == nil {
			t.Error("the failure is hidden")
		}
	}
	for number, buffer := range buffers {
		if !isWiped(buffer) {
			t.Errorf("buffer %d of %d is not wiped", number, len(buffers))
		}
	}
}

func TestAnAnswerThatNobodyWaitsForIsWiped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		answer, isLate := []byte("the answer"), make(chan struct{})
		_, err := wait(ctx, func() result {
			<-isLate
			return result{answer: answer}
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		close(isLate)
		synctest.Wait()
		if !isWiped(answer) {
			t.Error("the answer is not wiped")
		}
	})
}

func TestByDefaultEachProcessorKeepsAnInstance(t *testing.T) {
	for _, instances := range []int{0, -1} {
		library := newLibrary(t, Options{Instances: instances})
		if found := cap(library.idle); found != runtime.GOMAXPROCS(0) {
			t.Errorf("%d instances with the option %d", found, instances)
		}
	}
}

func TestNoCallAfterClose(t *testing.T) {
	// A number below 0 is the default, too.
	library := newLibrary(t, Options{Instances: -1})
	key := newKey(t)
	if _, err := library.SignNonce(t.Context(), key, []byte(honestNonce)); err != nil {
		t.Fatal(err)
	}
	if err := library.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := library.SignNonce(t.Context(), key, []byte(honestNonce)); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

// failingSigner has a public key alone.
type failingSigner struct{ public crypto.PublicKey }

var errHSM = errors.New("the HSM is off")

func (s failingSigner) Public() crypto.PublicKey { return s.public }

func (failingSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return nil, errHSM }

func TestASignersErrorIsKept(t *testing.T) {
	signer := failingSigner{newKey(t).Public()}
	if _, err := GenerateCSRForControlPlane(signer, "cl-consumer"); !errors.Is(err, errHSM) {
		t.Errorf("request: %v", err)
	}
	if _, err := SignNonce(signer, []byte(honestNonce)); !errors.Is(err, errHSM) {
		t.Errorf("nonce: %v", err)
	}
}

func TestAKeyWithoutASignerIsAnError(t *testing.T) {
	library := newLibrary(t, Options{})
	consumer := library.Consumer(ConsumerConfig{ClusterID: "cl-consumer"}, Key{}, testNow)
	if _, err := consumer.Look(t.Context(), View{Peer: "cl-provider"}); !errors.Is(err, errNoSigner) {
		t.Errorf("%v", err)
	}
}

func TestNoPrivateKeyEntersTheModule(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	var requests [][]byte
	library.carry = func(ctx context.Context, request []byte) ([]byte, error) {
		requests = append(requests, bytes.Clone(request))
		return library.exchange(ctx, request)
	}
	key := newKey(t)
	pair := newPair(t, library, key)
	nonce, _ := pair.invite(t)
	pair.authenticate(t)
	if _, err := library.SignNonce(t.Context(), key, []byte(honestNonce)); err != nil {
		t.Fatal(err)
	}
	in := <-library.idle
	memory, ok := in.module.Memory().Read(0, in.module.Memory().Size())
	if !ok {
		t.Fatal("the memory cannot be read")
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	inJSON, err := json.Marshal(string(inPEM))
	if err != nil {
		t.Fatal(err)
	}
	base64Of := func(bytes []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(bytes)) }
	forms := map[string][]byte{
		"the seed":            key.Seed(),
		"the seed in base64":  base64Of(key.Seed()),
		"the key in base64":   base64Of(key),
		"PKCS#8":              pkcs8,
		"PKCS#8 in base64":    base64Of(pkcs8),
		"the PEM":             inPEM,
		"the PEM in JSON":     bytes.Trim(inJSON, `"`),
		"the PEM in base64":   base64Of(inPEM),
		"a label of some key": []byte("PRIVATE KEY"),
	}
	control := false
	for _, request := range requests {
		for name, form := range forms {
			if bytes.Contains(request, form) {
				t.Errorf("a request contains %s", name)
			}
		}
		control = control || bytes.Contains(request, base64Of(pair.recordKey[:]))
	}
	if !control {
		t.Errorf("the search does not find the record key in %d requests", len(requests))
	}
	if bytes.Contains(memory, key.Seed()) || bytes.Contains(memory, pkcs8) {
		t.Error("the private key is in the module's memory")
	}
	if !bytes.Contains(memory, []byte("liqo-auth")) {
		t.Error("the search finds nothing at all")
	}
	if bytes.Contains(memory, pair.recordKey[:]) || bytes.Contains(memory, base64Of(pair.recordKey[:])) {
		t.Error("the record key is left in the module's memory")
	}
	if nonce == "" || bytes.Contains(memory, []byte(nonce)) {
		t.Error("an answer is left in the module's memory")
	}
}

func TestARequestWithoutItsFormIsAnError(t *testing.T) {
	library := newLibrary(t, Options{})
	err := library.call(t.Context(), "verifyTenants", nil, nil)
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != "request-form" || failure.Disposition != "giveUp" {
		t.Errorf("%v", err)
	}
}

// FuzzBorder sends bytes to the module. Whatever they are, there is an answer.
func FuzzBorder(f *testing.F) {
	library := newLibrary(f, Options{})
	for _, seed := range []string{
		"", "{", `"look"`, `{"checkNonce":{"nonce":"eA=="}}`,
		`{"verifySignature":{"publicKey":"","nonce":"","signature":""}}`,
		`{"readPublicKey":{"publicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}`,
		`{"verifyTenant":{"tenant":{"apiVersion":"authentication.liqo.io/v1beta1","kind":"Tenant"},"nonce":""}}`,
		`{"consumer":{"config":{"clusterID":"a"},"seen":{"peer":"b","objects":[{}],"now":"2026-11-20T13:00:00Z","entropy":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},"call":"reconcile"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		answer, err := library.exchange(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		var form map[string]json.RawMessage
		if err := json.Unmarshal(answer, &form); err != nil || len(form) != 1 {
			t.Fatalf("%v: %s", err, answer)
		}
	})
}
