package liqoauth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"slices"

	"filippo.io/edwards25519"
	"github.com/tetratelabs/wazero/api"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The module asks Go for the arithmetic of Ed25519. Each of these tests depends on its
// bytes alone. An address outside of the memory is answered as a key or a signature that
// is wrong. The module also asks for what backends answer, which asking.go has, and has Go
// wipe large parts of its memory.

// provideHost makes the functions that the module imports.
func (l *Library) provideHost(ctx context.Context) error {
	builder := l.runtime.NewHostModuleBuilder("liqo_auth_host")
	number := []api.ValueType{api.ValueTypeI32}
	for _, test := range arithmetic {
		builder = builder.NewFunctionBuilder().
			WithGoModuleFunction(test, slices.Repeat(number, test.parameters), number).
			Export(test.name)
	}
	place := slices.Repeat(number, 2)
	builder = builder.NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(backendAsk), place, number).Export("backend_ask")
	builder = builder.NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(backendAnswer), place, nil).Export("backend_answer")
	builder = builder.NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(memoryWipe), place, nil).Export("memory_wipe")
	_, err := builder.Instantiate(ctx)
	return err
}

// memoryWipe takes an address and a length, and writes zeros there. Most of what the module gives
// to wipe is the part of its stack that a call has not used. It is zero already, and a look at
// it takes less than to write it.
func memoryWipe(_ context.Context, module api.Module, stack []uint64) {
	// It is nil outside of the memory.
	place, _ := module.Memory().Read(api.DecodeU32(stack[0]), api.DecodeU32(stack[1]))
	for part := range slices.Chunk(place, len(zeros)) {
		if !bytes.Equal(part, zeros[:len(part)]) {
			clear(part)
		}
	}
}

// zeros are compared with a part of the memory that is to be wiped.
var zeros [2048]byte

// hostTest is a test of bytes in the module's memory.
type hostTest struct {
	name string
	// parameters is the number of addresses and lengths that bytes reads.
	parameters int
	bytes      func(api.Memory, []uint64) ([]byte, bool)
	holds      func([]byte) bool
}

// arithmetic is the tests that the module imports. Their bytes are a key, or a key, a
// signature and its message.
var arithmetic = []hostTest{
	{"ed25519_is_point", 1, keyIn, isPoint},
	{"ed25519_has_prime_order", 1, keyIn, hasPrimeOrder},
	{verification, 4, signedIn, verifies},
}

// verification is the name of the test of a signature.
const verification = "ed25519_verify"

// Call tests bytes, and puts 1 in place of the arguments if it holds, else 0.
func (t hostTest) Call(ctx context.Context, module api.Module, stack []uint64) {
	holds := uint32(0)
	if bytes, ok := t.bytes(module.Memory(), stack); ok && factsOf(ctx).hold(t, bytes) {
		holds = 1
	}
	stack[0] = api.EncodeU32(holds)
}

// keyIn reads a key.
func keyIn(memory api.Memory, arguments []uint64) ([]byte, bool) {
	return memory.Read(api.DecodeU32(arguments[0]), ed25519.PublicKeySize)
}

// signedIn reads a key, a message, its length, and a signature. It returns the key, the
// signature and the message.
func signedIn(memory api.Memory, arguments []uint64) ([]byte, bool) {
	key, hasKey := keyIn(memory, arguments)
	message, hasMessage := memory.Read(api.DecodeU32(arguments[1]), api.DecodeU32(arguments[2]))
	signature, hasSignature := memory.Read(api.DecodeU32(arguments[3]), ed25519.SignatureSize)
	return slices.Concat(key, signature, message), hasKey && hasMessage && hasSignature
}

// isPoint tests whether 32 bytes are a point of the curve, in any encoding.
func isPoint(key []byte) bool {
	return point(key) != nil
}

// hasPrimeOrder tests whether a point, multiplied by the prime l, is the identity.
func hasPrimeOrder(key []byte) bool {
	found := point(key)
	if found == nil {
		return false
	}
	// No Scalar is l itself. But -1 is l - 1.
	product := new(edwards25519.Point).VarTimeDoubleScalarBaseMult(minusOne, found, zero)
	product.Add(product, found)
	return product.Equal(edwards25519.NewIdentityPoint()) == 1
}

// verifies tests whether a key has made this signature of a message.
func verifies(bytes []byte) bool {
	key, rest := bytes[:ed25519.PublicKeySize], bytes[ed25519.PublicKeySize:]
	signature, message := rest[:ed25519.SignatureSize], rest[ed25519.SignatureSize:]
	return ed25519.Verify(key, message, signature)
}

// point is nil if there is none.
func point(key []byte) *edwards25519.Point {
	found, err := new(edwards25519.Point).SetBytes(key)
	if err != nil {
		return nil
	}
	return found
}

var (
	zero     = edwards25519.NewScalar()
	minusOne = func() *edwards25519.Scalar {
		one, err := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{1}, make([]byte, 31)...))
		utilruntime.Must(err)
		return one.Negate(one)
	}()
)
