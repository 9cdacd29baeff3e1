package liqoauth

import (
	"errors"
	"testing"
)

func TestAnErrorIsItsCodeAlone(t *testing.T) {
	err := error(&Error{Code: "key-changed"})
	if !errors.Is(err, Code("key-changed")) {
		t.Error("the error is not its code")
	}
	if errors.Is(err, Code("request-form")) || errors.Is(err, errHSM) {
		t.Error("the error is another one")
	}
}
