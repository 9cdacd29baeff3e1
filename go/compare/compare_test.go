package compare

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	authv1beta1 "github.com/liqotech/liqo/apis/authentication/v1beta1"
	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	liqo "github.com/liqotech/liqo/pkg/liqo-controller-manager/authentication"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// These lines compile only if every function has the signature of Liqo's.
var _ = []any{
	same(liqo.SignNonce, liqoauth.SignNonce),
	same(liqo.VerifyNonce, liqoauth.VerifyNonce),
	same(liqo.GenerateCSRForControlPlane, liqoauth.GenerateCSRForControlPlane),
	same(liqo.GenerateCSRForResourceSlice, liqoauth.GenerateCSRForResourceSlice),
	same(liqo.GenerateCSRForPeerUser, liqoauth.GenerateCSRForPeerUser),
	same(liqo.CheckCSRForControlPlane, liqoauth.CheckCSRForControlPlane),
	same(liqo.CheckCSRForResourceSlice, liqoauth.CheckCSRForResourceSlice),
	same(liqo.ParseTenantPublicKey, liqoauth.ParseTenantPublicKey),
	same(liqo.CommonNameControlPlaneCSR, liqoauth.CommonNameControlPlaneCSR),
	same(liqo.OrganizationControlPlaneCSR, liqoauth.OrganizationControlPlaneCSR),
	same(liqo.CommonNameResourceSliceCSR, liqoauth.CommonNameResourceSliceCSR),
	same(liqo.OrganizationResourceSliceCSR, liqoauth.OrganizationResourceSliceCSR),
	same(liqo.IsControlPlaneUser, liqoauth.IsControlPlaneUser),
}

func same[F any](theirs, ours F) [2]F { return [2]F{theirs, ours} }

// input is what a provider verifies of a Tenant or a slice.
type input struct {
	publicKey, nonce, signature, csr []byte
	consumer                         liqov1beta1.ClusterID
	// slice is empty for a control plane.
	slice string
}

func (i input) resourceSlice() *authv1beta1.ResourceSlice {
	slice := &authv1beta1.ResourceSlice{}
	slice.Name = i.slice
	slice.Spec.ConsumerClusterID = &i.consumer
	slice.Spec.CSR = i.csr
	return slice
}

// functions of one of the two libraries.
type functions struct {
	parseKey     func([]byte) (crypto.PublicKey, []byte, error)
	verifyNonce  func(crypto.PublicKey, []byte, []byte) (bool, error)
	checkControl func(csr, key []byte, consumer liqov1beta1.ClusterID) error
	checkSlice   func(key []byte, slice *authv1beta1.ResourceSlice, checkKey bool) error
}

var (
	theirs = functions{
		liqo.ParseTenantPublicKey, liqo.VerifyNonce, liqo.CheckCSRForControlPlane, liqo.CheckCSRForResourceSlice,
	}
	ours = functions{
		liqoauth.ParseTenantPublicKey, liqoauth.VerifyNonce, liqoauth.CheckCSRForControlPlane, liqoauth.CheckCSRForResourceSlice,
	}
)

// verdicts of the single functions, and of all together.
type verdicts struct{ key, nonce, csr, sliceWithKey, slice bool }

// of judges an input. Liqo's functions panic on some inputs; such a panic is a refusal.
func (f functions) of(in input) (found verdicts) {
	attempt := func(verdict *bool, judge func() bool) {
		defer func() { _ = recover() }()
		*verdict = judge()
	}
	var key crypto.PublicKey
	var der []byte
	attempt(&found.key, func() bool {
		var err error
		key, der, err = f.parseKey(in.publicKey)
		return err == nil
	})
	if found.key && in.nonce != nil {
		attempt(&found.nonce, func() bool {
			ok, err := f.verifyNonce(key, in.nonce, in.signature)
			return ok && err == nil
		})
	}
	if in.slice == "" {
		attempt(&found.csr, func() bool { return found.key && f.checkControl(in.csr, der, in.consumer) == nil })
		return found
	}
	attempt(&found.sliceWithKey, func() bool { return f.checkSlice(in.publicKey, in.resourceSlice(), true) == nil })
	attempt(&found.slice, func() bool { return f.checkSlice(nil, in.resourceSlice(), false) == nil })
	return found
}

// compare fails if we accept what Liqo refuses. It reports whether both accept.
func compare(t *testing.T, name string, in input) bool {
	t.Helper()
	liqos, our := theirs.of(in), ours.of(in)
	if our.key && !liqos.key || our.nonce && !liqos.nonce || our.csr && !liqos.csr ||
		our.sliceWithKey && !liqos.sliceWithKey || our.slice && !liqos.slice {
		t.Errorf("%s: Liqo %+v, ours %+v\n%+v", name, liqos, our, in)
	}
	return our == liqos && (our.csr || our.sliceWithKey)
}

const vectorsFolder = "../../tests/vectors/"

func read(t testing.TB, path string, form any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, form); err != nil {
		t.Fatal(path, err)
	}
}

func TestCorpus(t *testing.T) {
	files, err := filepath.Glob(vectorsFolder + "corpus/[TR]*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no corpus", err)
	}
	agreed := 0
	for _, file := range files {
		var form struct {
			Nonce  string `json:"nonce"`
			Tenant struct {
				Spec struct {
					ClusterID                 liqov1beta1.ClusterID
					PublicKey, CSR, Signature []byte
				}
			} `json:"tenant"`
			TenantPublicKey []byte `json:"tenantPublicKey"`
			ResourceSlice   struct {
				Metadata struct{ Name string }
				Spec     struct {
					ConsumerClusterID liqov1beta1.ClusterID
					CSR               []byte
				}
			} `json:"resourceSlice"`
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(raw, &form) != nil {
			// An input that Go cannot read reaches neither library.
			continue
		}
		tenant, slice := form.Tenant.Spec, form.ResourceSlice
		in := input{tenant.PublicKey, []byte(form.Nonce), tenant.Signature, tenant.CSR, tenant.ClusterID, ""}
		if slice.Metadata.Name != "" {
			in = input{form.TenantPublicKey, nil, nil, slice.Spec.CSR, slice.Spec.ConsumerClusterID, slice.Metadata.Name}
		}
		if compare(t, filepath.Base(file), in) {
			agreed++
		}
	}
	if agreed == 0 {
		t.Error("no honest input is accepted")
	}
}

// honest returns the inputs that Liqo's own functions made.
func honest(t testing.TB) []input {
	t.Helper()
	var file struct {
		Vectors []struct {
			Algorithm           string
			ConsumerClusterID   liqov1beta1.ClusterID
			PublicKeyPEM, Nonce string
			PublicKeyRaw        []byte
			Signature           []byte
			CSRPEM, SliceCSRPEM string
			SliceName           string
		}
	}
	read(t, vectorsFolder+"liqo-1.2.0/functions.json", &file)
	var inputs []input
	for _, v := range file.Vectors {
		key := []byte(v.PublicKeyPEM)
		inputs = append(inputs,
			input{key, []byte(v.Nonce), v.Signature, []byte(v.CSRPEM), v.ConsumerClusterID, ""},
			input{key, nil, nil, []byte(v.SliceCSRPEM), v.ConsumerClusterID, v.SliceName})
	}
	// Liqo signs with ECDSA as well.
	for i, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, newSource(i))
		if err != nil {
			t.Fatal(err)
		}
		in := input{consumer: "cl-consumer", nonce: inputs[0].nonce}
		der, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			t.Fatal(err)
		}
		in.publicKey = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		if in.signature, err = liqo.SignNonce(key, in.nonce); err != nil {
			t.Fatal(err)
		}
		if in.csr, err = liqo.GenerateCSRForControlPlane(key, in.consumer); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, in)
	}
	return inputs
}

func newSource(seed int) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{byte(seed)}) }

func TestHonestInputsAreAcceptedByBoth(t *testing.T) {
	for _, in := range honest(t) {
		if !compare(t, "honest", in) {
			t.Errorf("refused: Liqo %+v, ours %+v\n%s", theirs.of(in), ours.of(in), in.csr)
		}
	}
}

// mutants is how many changed inputs are judged. An RSA key is tested for a prime
// modulus, so most mutants are of the other keys.
var mutants = flag.Int("mutants", 100_000, "how many changed inputs are judged")

func TestNoMutantIsAcceptedThatLiqoRefuses(t *testing.T) {
	count := *mutants
	random := rand.New(newSource(7))
	var quick, slow []input
	for _, in := range honest(t) {
		if key, _, err := liqo.ParseTenantPublicKey(in.publicKey); err == nil {
			if _, ok := key.(*rsa.PublicKey); ok {
				slow = append(slow, in)
				continue
			}
		}
		quick = append(quick, in)
	}
	accepted := 0
	for i := range count {
		from := quick
		if i%200 == 0 {
			from = slow
		}
		in := mutate(random, from[random.IntN(len(from))])
		if compare(t, "mutant", in) {
			accepted++
		}
	}
	t.Logf("%d mutants, of which both accept %d", count, accepted)
}

// mutate changes one part of an input, inside its PEM or outside.
func mutate(random *rand.Rand, in input) input {
	parts := []*[]byte{&in.publicKey, &in.csr}
	if in.nonce != nil {
		parts = append(parts, &in.nonce, &in.signature)
	}
	part := parts[random.IntN(len(parts))]
	block, _ := pem.Decode(*part)
	if block == nil || random.IntN(4) == 0 {
		*part = change(random, *part)
		return in
	}
	block.Bytes = change(random, block.Bytes)
	*part = pem.EncodeToMemory(block)
	return in
}

func change(random *rand.Rand, from []byte) []byte {
	changed := append([]byte(nil), from...)
	if len(changed) == 0 {
		return []byte{byte(random.Uint32())}
	}
	at := random.IntN(len(changed))
	switch random.IntN(6) {
	case 0, 1, 2:
		changed[at] ^= 1 << random.IntN(8)
	case 3:
		changed[at] = byte(random.Uint32())
	case 4:
		changed = append(changed[:at], changed[at+1:]...)
	default:
		changed = append(changed[:at], append([]byte{byte(random.Uint32())}, changed[at:]...)...)
	}
	return changed
}

func BenchmarkVerifyTenant(b *testing.B) {
	in := honest(b)[0]
	// The first use compiles the module.
	library, err := liqoauth.Default()
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		functions
	}{{"Liqo", theirs}, {"wazero", ours}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				if found := way.of(in); !found.csr || !found.nonce {
					b.Fatal(found)
				}
			}
		})
	}
	// The same by one call, which also verifies names and the request's signature.
	tenant := &authv1beta1.Tenant{}
	tenant.Name = string(in.consumer)
	tenant.Labels = map[string]string{"liqo.io/remote-cluster-id": string(in.consumer)}
	tenant.Spec = authv1beta1.TenantSpec{
		ClusterID: in.consumer, PublicKey: in.publicKey, CSR: in.csr, Signature: in.signature,
	}
	b.Run("wazero in one call", func(b *testing.B) {
		for b.Loop() {
			if _, err := library.VerifyTenant(b.Context(), tenant, in.consumer, in.nonce); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Liqo's SignNonce signs any text; ours signs nonces alone.
func TestOnlyNoncesAreSigned(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	for _, text := range []string{"", "hello"} {
		if _, err := liqoauth.SignNonce(key, []byte(text)); err == nil {
			t.Errorf("%q is signed", text)
		}
	}
}
