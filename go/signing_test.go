package liqoauth

import (
	"context"
	"errors"
	"testing"
)

func TestARequestThatTheModuleDoesNotFinishIsAnError(t *testing.T) {
	library := newLibrary(t, Options{})
	errCarry, calls := errors.New("the module is gone"), 0
	library.carry = func(ctx context.Context, request []byte) ([]byte, error) {
		if calls++; calls == 2 {
			return nil, errCarry
		}
		return library.exchange(ctx, request)
	}
	if _, err := library.GenerateCSRForControlPlane(t.Context(), newKey(t), "cl-consumer"); !errors.Is(err, errCarry) {
		t.Errorf("%v", err)
	}
}
