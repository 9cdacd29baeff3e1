package liqoauth

import (
	"bytes"
	"errors"
	"fmt"
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
