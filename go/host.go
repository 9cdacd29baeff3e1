package liqoauth

import (
	"context"
	"crypto/ed25519"

	"filippo.io/edwards25519"
	"github.com/tetratelabs/wazero/api"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// The module asks Go for the arithmetic of Ed25519. Each of these functions depends on
// its arguments alone, and keeps nothing. An address outside of the memory is answered
// as a key or a signature that is wrong.

// provideArithmetic makes the functions that the module imports.
func (l *Library) provideArithmetic(ctx context.Context) error {
	i32 := api.ValueTypeI32
	builder := l.runtime.NewHostModuleBuilder("liqo_auth_host")
	for name, function := range map[string]struct {
		call       hostFunction
		parameters []api.ValueType
	}{
		"ed25519_is_point":        {isPoint, []api.ValueType{i32}},
		"ed25519_has_prime_order": {hasPrimeOrder, []api.ValueType{i32}},
		"ed25519_verify":          {verifies, []api.ValueType{i32, i32, i32, i32}},
	} {
		builder = builder.NewFunctionBuilder().
			WithGoModuleFunction(function.call, function.parameters, []api.ValueType{i32}).
			Export(name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// hostFunction is a test of bytes in the module's memory.
type hostFunction func(memory api.Memory, arguments []uint64) bool

// Call makes the test, and puts 1 in place of the arguments if it holds, else 0.
func (f hostFunction) Call(_ context.Context, module api.Module, stack []uint64) {
	holds := uint32(0)
	if f(module.Memory(), stack) {
		holds = 1
	}
	stack[0] = api.EncodeU32(holds)
}

// isPoint tests whether 32 bytes are a point of the curve, in any encoding.
func isPoint(memory api.Memory, arguments []uint64) bool {
	return point(memory, arguments[0]) != nil
}

// hasPrimeOrder tests whether a point, multiplied by the prime l, is the identity.
func hasPrimeOrder(memory api.Memory, arguments []uint64) bool {
	found := point(memory, arguments[0])
	if found == nil {
		return false
	}
	// No Scalar is l itself. But -1 is l - 1.
	product := new(edwards25519.Point).VarTimeDoubleScalarBaseMult(minusOne, found, zero)
	product.Add(product, found)
	return product.Equal(edwards25519.NewIdentityPoint()) == 1
}

// verifies tests the signature of a message: key, message, its length, signature.
func verifies(memory api.Memory, arguments []uint64) bool {
	key, hasKey := memory.Read(api.DecodeU32(arguments[0]), ed25519.PublicKeySize)
	message, hasMessage := memory.Read(api.DecodeU32(arguments[1]), api.DecodeU32(arguments[2]))
	signature, hasSignature := memory.Read(api.DecodeU32(arguments[3]), ed25519.SignatureSize)
	return hasKey && hasMessage && hasSignature && ed25519.Verify(key, message, signature)
}

// point is nil if there is none.
func point(memory api.Memory, place uint64) *edwards25519.Point {
	bytes, ok := memory.Read(api.DecodeU32(place), ed25519.PublicKeySize)
	if !ok {
		return nil
	}
	found, err := new(edwards25519.Point).SetBytes(bytes)
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
