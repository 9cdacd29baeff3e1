package liqoauth

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachFormHasItsFields reads the forms that the Rust library writes. No field is lost.
func TestEachFormHasItsFields(t *testing.T) {
	forms := "../tests/vectors/json"
	for folder, form := range map[string]func() any{
		"status":  func() any { return new(Status) },
		"awaited": func() any { return new(Awaited) },
		"notice":  func() any { return new(Notice) },
	} {
		files, err := filepath.Glob(filepath.Join(forms, folder, "*.json"))
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %v %v", folder, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(form()); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func TestAStatusSaysWhatAPersonAsks(t *testing.T) {
	var status Status
	if err := json.Unmarshal(readFile(t, "../tests/vectors/json/status/a-provider.json"), &status); err != nil {
		t.Fatal(err)
	}
	if status.Condition != "Cordoned" || !status.ConditionHeld {
		t.Errorf("%+v", status)
	}
	remedy := status.Notices[0].Remedy
	if remedy == nil || remedy.Code != "liftCondition" || remedy.Condition != "Cordoned" {
		t.Errorf("%+v", remedy)
	}
	if slice := status.Slices[0]; slice.Slice != "mypool" || slice.Stage != "authenticated" || slice.RenewalDueAt == "" || !slice.Cordoned {
		t.Errorf("%+v", slice)
	}
	if slice := status.Slices[0]; slice.Authentication != "Accepted" || slice.Resources != "Accepted" {
		t.Errorf("%+v", slice)
	}
	for _, holder := range []HolderStatus{status.ControlPlane, status.Slices[0]} {
		certificate := holder.Certificate
		if certificate == nil || !strings.HasPrefix(certificate.Fingerprint, "SHA256:") ||
			certificate.ValidFrom >= certificate.ValidUntil || certificate.ValidUntil != holder.ValidUntil {
			t.Errorf("%+v %+v", holder, certificate)
		}
	}
	if tenant := status.Tenant; tenant == nil || tenant.Name != "cl-consumer" {
		t.Errorf("%+v", tenant)
	}
	status = Status{}
	if err := json.Unmarshal(readFile(t, "../tests/vectors/json/status/a-consumer.json"), &status); err != nil {
		t.Fatal(err)
	}
	if len(status.Awaits) != 1 || status.Awaits[0].Type != "nonce" || status.Awaits[0].From != "peer" {
		t.Errorf("%+v", status.Awaits)
	}
	if status.Due || status.Tenant != nil || len(status.Refused) != 0 {
		t.Errorf("%+v", status)
	}
}
