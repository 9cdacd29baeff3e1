package liqoauth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestARequestThatTheModuleDoesNotFinishIsAnError(t *testing.T) {
	library := newLibrary(t, Options{})
	errCarry := errors.New("the module is gone")
	for _, c := range []struct {
		// call is the number of the call that gets this answer.
		call   int
		answer string
		err    error
		says   string
	}{
		{1, "", errCarry, errCarry.Error()},
		{2, "", errCarry, errCarry.Error()},
		{1, `{"ok":{"questions":[1]}}`, nil, "question of the module"},
		{2, `{"ok":{}}`, nil, "the request is not signed"},
	} {
		calls := 0
		library.carry = func(ctx context.Context, request []byte) ([]byte, error) {
			if calls++; calls == c.call {
				return []byte(c.answer), c.err
			}
			return library.exchange(ctx, request)
		}
		csr, err := library.GenerateCSRForControlPlane(t.Context(), newKey(t), "cl-consumer")
		if csr != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.says, err)
		}
	}
}

func TestAnUnsupportedKeyIsNamed(t *testing.T) {
	for _, key := range []crypto.PrivateKey{"a text", failingSigner{public: "a text"}} {
		want := fmt.Sprintf("unsupported private key type %T", key)
		_, ofRequest := GenerateCSRForControlPlane(key, "cl-consumer")
		_, ofNonce := SignNonce(key, []byte(honestNonce))
		for _, err := range []error{ofRequest, ofNonce} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v instead of %s", err, want)
			}
		}
	}
}

func TestEachPeeringUserHasANameOfItsOwn(t *testing.T) {
	key := newKey(t)
	_, first, err := GenerateCSRForPeerUser(key, "cl-consumer")
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := GenerateCSRForPeerUser(key, "cl-consumer")
	if err != nil || first == second {
		t.Errorf("%v, %s and %s", err, first, second)
	}
}
