package liqoauth

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// counting is a test of bytes that counts how often it is made. It holds for even bytes.
func counting(name string, made *int) hostTest {
	return hostTest{name: name, holds: func(bytes []byte) bool {
		*made++
		return bytes[0]%2 == 0
	}}
}

func TestAFactIsTestedOnce(t *testing.T) {
	made := 0
	test, other := counting("a", &made), counting("b", &made)
	found := new(facts)
	for number, step := range []struct {
		test  hostTest
		bytes []byte
		holds bool
		made  int
	}{
		{test, []byte{0, 1}, true, 1},
		{test, []byte{0, 1}, true, 1},
		{test, []byte{0, 2}, true, 2},
		{other, []byte{0, 1}, true, 3},
		// What does not hold is tested again.
		{test, []byte{1}, false, 4},
		{test, []byte{1}, false, 5},
	} {
		if holds := found.hold(step.test, step.bytes); holds != step.holds || made != step.made {
			t.Errorf("step %d: %v after %d tests", number, holds, made)
		}
	}
	if factsOf(t.Context()).hold(test, []byte{0, 1}); made != 6 {
		t.Errorf("%d tests, the last one without facts", made)
	}
}

// A fact is about all that its test has read: the key, the signature and each byte of the
// message.
func TestAFactIsAboutEachOfItsBytes(t *testing.T) {
	library := newLibrary(t, Options{})
	in, err := library.instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	private := newKey(t)
	// The message has several blocks of the digest.
	message := bytes.Repeat([]byte("a nonce, or a request. "), 20)
	key := []byte(private.Public().(ed25519.PublicKey))
	place, _, err := in.put(t.Context(), slices.Concat(key, ed25519.Sign(private, message), message))
	if err != nil {
		t.Fatal(err)
	}
	length := uint64(ed25519.PublicKeySize + ed25519.SignatureSize + len(message))
	memory, ok := in.module.Memory().Read(uint32(place), uint32(length))
	if !ok {
		t.Fatal("the memory cannot be read")
	}
	arguments := map[string][]uint64{
		"ed25519_is_point":        {place},
		"ed25519_has_prime_order": {place},
		"ed25519_verify": {
			place, place + ed25519.PublicKeySize + ed25519.SignatureSize, uint64(len(message)), place + ed25519.PublicKeySize,
		},
	}
	found := new(facts)
	holds := func(test hostTest) bool {
		stack := slices.Clone(arguments[test.name])
		test.Call(found.within(t.Context()), in.module, stack)
		return stack[0] == 1
	}
	for _, test := range arithmetic {
		// The first answer is computed, and the second one is remembered.
		for range 2 {
			if !holds(test) {
				t.Fatalf("%s does not hold", test.name)
			}
		}
		reads := length
		if test.parameters == 1 {
			reads = ed25519.PublicKeySize
		}
		for at := range reads {
			memory[at] ^= 1
			changed, ok := test.bytes(in.module.Memory(), arguments[test.name])
			if !ok || holds(test) != test.holds(changed) {
				t.Errorf("%s: byte %d is no part of the fact", test.name, at)
			}
			memory[at] ^= 1
		}
		if !holds(test) {
			t.Errorf("%s does not hold any more", test.name)
		}
	}
}

func TestFactsAreForgottenUnlessTheyAreUsed(t *testing.T) {
	made := 0
	test := counting("a", &made)
	found := new(facts)
	bytes := func(number int) []byte { return fmt.Append([]byte{0}, number) }
	for number := range 3 * half {
		found.hold(test, bytes(number))
		found.hold(test, bytes(0))
		if len(found.young) > half || len(found.older) > half {
			t.Fatalf("%d and %d facts", len(found.young), len(found.older))
		}
	}
	if made != 3*half {
		t.Errorf("%d tests of %d facts", made, 3*half)
	}
	if found.hold(test, bytes(1)); made != 3*half+1 {
		t.Error("an unused fact is kept")
	}
}

// A machine keeps no fact about a changed signature: the peer's second message, with the
// same key, is verified like the first one.
func TestAMachineVerifiesWhatItHasNotSeen(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	_, message := pair.invite(t)
	for range 2 {
		if _, err := pair.provider.Receive(t.Context(), pair.seenByProvider(), message); err != nil {
			t.Fatal(err)
		}
	}
	if len(pair.provider.facts.young) == 0 || len(pair.consumer.facts.young) == 0 {
		t.Error("a machine has no facts")
	}
	changed := *message.Tenant.DeepCopy()
	changed.Spec.Signature = bytes.Clone(changed.Spec.Signature)
	changed.Spec.Signature[40] ^= 1
	message.Tenant = &changed
	_, err := pair.provider.Receive(t.Context(), pair.seenByProvider(), message)
	if !errors.Is(err, Code("nonce-signature-wrong")) {
		t.Errorf("a changed signature: %#v", err)
	}
}

// A signature of a key in this process is a fact, unless the halves of the key do not fit. That
// they fit is a fact, too.
func TestASignatureOfThisProcessIsAFact(t *testing.T) {
	private, other, message := newKey(t), newKey(t), []byte("a nonce")
	torn := ed25519.PrivateKey(slices.Concat(private.Seed(), other.Public().(ed25519.PublicKey)))
	for name, test := range map[string]struct {
		signer crypto.Signer
		facts  int
	}{
		"a key of this process":           {private, 2},
		"a key elsewhere":                 {struct{ crypto.Signer }{private}, 0},
		"a key with two different halves": {torn, 0},
	} {
		found := new(facts)
		key := Key{Signer: test.signer}
		signature, err := key.sign(found.within(t.Context()), signatureQuestion{Scheme: "ed25519", Bytes: message})
		if err != nil || len(found.young) != test.facts {
			t.Errorf("%s: %v, %d facts", name, err, len(found.young))
		}
		public := []byte(test.signer.Public().(ed25519.PublicKey))
		made := 0
		verify := hostTest{name: verification, holds: func([]byte) bool { made++; return false }}
		if found.hold(verify, slices.Concat(public, signature, message)) != (made == 0) || (made == 0) != (test.facts > 0) {
			t.Errorf("%s: the signature is verified %d times", name, made)
		}
	}
	// Without facts, a key signs as well.
	if _, err := (Key{Signer: private}).sign(t.Context(), signatureQuestion{Scheme: "ed25519", Bytes: message}); err != nil {
		t.Error(err)
	}
}
