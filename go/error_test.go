package liqoauth

import (
	"encoding/json"
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

func TestAnErrorNamesItsRemedy(t *testing.T) {
	for code, wanted := range map[Code]string{
		"key-changed":             "release",
		"approval-denied":         "approve",
		"certificate-not-trusted": "signAgain",
	} {
		var found Error
		if err := json.Unmarshal(readFile(t, "../tests/vectors/json/error/"+string(code)+".json"), &found); err != nil {
			t.Fatal(err)
		}
		if found.Code != code || found.Remedy == nil || found.Remedy.Code != wanted {
			t.Errorf("%s: %+v", code, found.Remedy)
		}
	}
}
