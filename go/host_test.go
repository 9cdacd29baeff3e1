package liqoauth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"filippo.io/edwards25519"
)

// torsion returns the eight points of small order.
func torsion(t *testing.T) []*edwards25519.Point {
	t.Helper()
	encoding, err := hex.DecodeString("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
	if err != nil {
		t.Fatal(err)
	}
	generator, err := new(edwards25519.Point).SetBytes(encoding)
	if err != nil {
		t.Fatal(err)
	}
	points := []*edwards25519.Point{edwards25519.NewIdentityPoint()}
	for range 7 {
		points = append(points, new(edwards25519.Point).Add(points[len(points)-1], generator))
	}
	if new(edwards25519.Point).Add(points[7], generator).Equal(points[0]) != 1 || points[4].Equal(points[0]) == 1 {
		t.Fatal("the generator's order is not 8")
	}
	return points
}

// scalar returns a small number.
func scalar(t *testing.T, value byte) *edwards25519.Scalar {
	t.Helper()
	found, err := edwards25519.NewScalar().SetCanonicalBytes(append([]byte{value}, make([]byte, 31)...))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// forEachBorder runs a test on the module, and with the tag liqo_auth_c on the C library,
// which has its own arithmetic.
func forEachBorder(t *testing.T, test func(*testing.T, *Library)) {
	for _, border := range borders {
		t.Run(border.name, func(t *testing.T) {
			library := newLibrary(t, Options{})
			border.use(library)
			test(t, library)
		})
	}
}

func TestAKeyIsRefusedByItsPoint(t *testing.T) {
	forEachBorder(t, func(t *testing.T, library *Library) {
		keyIs := func(key []byte, fault string) {
			t.Helper()
			_, _, err := library.ParseTenantPublicKey(t.Context(), key)
			if fault == "" && err != nil || fault != "" && (err == nil || !strings.HasSuffix(err.Error(), fault)) {
				t.Errorf("key %x: %v instead of %q", key, err, fault)
			}
		}
		for value := range byte(4) {
			prime := new(edwards25519.Point).ScalarBaseMult(scalar(t, value))
			for number, point := range torsion(t) {
				fault := ""
				switch {
				case value == 0:
					fault = "small order"
				case number != 0:
					fault = "mixed order"
				}
				keyIs(new(edwards25519.Point).Add(prime, point).Bytes(), fault)
			}
		}
		// y = 3 + p has the point of y = 3, and y = 2 has none.
		high := append(bytes.Repeat([]byte{0xff}, 31), 0x7f)
		high[0] = 0xf0
		keyIs(high, "canonical encoding")
		keyIs(append([]byte{2}, make([]byte, 31)...), "not a point on the curve")
	})
}

// sign signs with a small private scalar and a small nonce, to which a point of small order
// is added.
func sign(t *testing.T, private, nonce byte, torsion *edwards25519.Point, message []byte) (key ed25519.PublicKey, signature []byte) {
	t.Helper()
	a, r := scalar(t, private), scalar(t, nonce)
	key = new(edwards25519.Point).ScalarBaseMult(a).Bytes()
	point := new(edwards25519.Point).ScalarBaseMult(r)
	point.Add(point, torsion)
	digest := sha512.Sum512(slices.Concat(point.Bytes(), key, message))
	k, err := edwards25519.NewScalar().SetUniformBytes(digest[:])
	if err != nil {
		t.Fatal(err)
	}
	s := edwards25519.NewScalar().MultiplyAdd(k, a, r)
	return key, append(point.Bytes(), s.Bytes()...)
}

func TestASignatureIsVerifiedStrictly(t *testing.T) {
	forEachBorder(t, func(t *testing.T, library *Library) {
		message := []byte(honestNonce)
		isVerified := func(name string, key ed25519.PublicKey, signature []byte, want bool) {
			t.Helper()
			found, err := library.VerifyNonce(t.Context(), key, message, signature)
			if err != nil || found != want {
				t.Errorf("%s: %v, %v", name, found, err)
			}
		}
		points := torsion(t)
		key, honest := sign(t, 7, 5, points[0], message)
		isVerified("honest", key, honest, true)
		for bit := range 8 * len(honest) {
			changed := bytes.Clone(honest)
			changed[bit/8] ^= 1 << (bit % 8)
			isVerified(fmt.Sprintf("bit %d", bit), key, changed, false)
		}
		for number, point := range points {
			if number != 0 {
				_, signature := sign(t, 7, 5, point, message)
				isVerified(fmt.Sprintf("R of mixed order %d", number), key, signature, false)
			}
			_, signature := sign(t, 7, 0, point, message)
			isVerified(fmt.Sprintf("R of small order %d", number), key, signature, false)
		}
		// Go itself accepts the identity as R.
		if _, zero := sign(t, 7, 0, points[0], message); !ed25519.Verify(key, message, zero) {
			t.Error("the signature of the nonce 0 is none")
		}
		isVerified("s + l", key, append(honest[:32:32], plusOrder(honest[32:])...), false)
		isVerified("short", key, honest[:63], false)
	})
}

// plusOrder adds l to a number of 32 bytes, the least one first.
func plusOrder(s []byte) []byte {
	bigEndian := bytes.Clone(s)
	slices.Reverse(bigEndian)
	order, _ := new(big.Int).SetString("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed", 16)
	sum := new(big.Int).Add(new(big.Int).SetBytes(bigEndian), order).FillBytes(make([]byte, 32))
	slices.Reverse(sum)
	return sum
}

// A call whose addresses are outside of the memory is answered, and traps nothing.
func TestTheHostReadsOnlyTheModulesMemory(t *testing.T) {
	library := newLibrary(t, Options{})
	in, err := library.instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(in.module.Memory().Size())
	outside := map[string][][]uint64{
		"ed25519_is_point":        {{end - 31}},
		"ed25519_has_prime_order": {{end - 31}},
		"ed25519_verify":          {{end - 31, 0, 0, 0}, {0, end, 1, 0}, {0, 0, 0, end - 63}},
	}
	for _, test := range arithmetic {
		if len(outside[test.name]) == 0 {
			t.Errorf("%s is not tried", test.name)
		}
		for _, stack := range outside[test.name] {
			test.Call(t.Context(), in.module, stack)
			if stack[0] != 0 {
				t.Errorf("%s holds outside of the memory", test.name)
			}
		}
	}
}

func TestTheHostWipesWhatItIsTold(t *testing.T) {
	in, err := newLibrary(t, Options{}).take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	memory := in.module.Memory()
	place, _, err := in.put(t.Context(), bytes.Repeat([]byte{7}, 64))
	if err != nil {
		t.Fatal(err)
	}
	memoryWipe(t.Context(), in.module, []uint64{place + 8, 48})
	found, _ := memory.Read(uint32(place), 64)
	want := slices.Concat(bytes.Repeat([]byte{7}, 8), make([]byte, 48), bytes.Repeat([]byte{7}, 8))
	if !bytes.Equal(found, want) {
		t.Errorf("%v", found)
	}
	// Of much, it writes only the parts that are not zero. Each byte may be the only one.
	length := 3*len(zeros) + 100
	large, _, err := in.put(t.Context(), make([]byte, length))
	if err != nil {
		t.Fatal(err)
	}
	part, _ := memory.Read(uint32(large), uint32(length))
	for _, at := range []int{0, 1, len(zeros) - 1, len(zeros), 2*len(zeros) + 7, 3 * len(zeros), length - 2} {
		part[at], part[length-1] = 7, 9
		memoryWipe(t.Context(), in.module, []uint64{large, uint64(length - 1)})
		if !isWiped(part[:length-1]) || part[length-1] != 9 {
			t.Errorf("after a wipe, byte %d of %d is %d", at, length, part[at])
		}
	}
	// Outside of the memory, it wipes nothing.
	end := uint64(memory.Size())
	memory.WriteByte(uint32(end-1), 7)
	memoryWipe(t.Context(), in.module, []uint64{end - 1, 2})
	if last, _ := memory.ReadByte(uint32(end - 1)); last != 7 {
		t.Error("the end of the memory is wiped")
	}
}
