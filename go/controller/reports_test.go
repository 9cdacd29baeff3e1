package controller

import (
	"errors"
	"fmt"
	"testing"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

func TestAReportHasTheRemedyFirst(t *testing.T) {
	id := func(kind, name string) *liqoauth.ObjectReference {
		return &liqoauth.ObjectReference{Kind: kind, Namespace: "a", Name: name}
	}
	at := newPlace(consumerID)
	at.tenant = *id("Tenant", "rome")
	failure := &liqoauth.Error{Code: "key-changed", Message: "it has changed", Advice: "Ask.", Object: id("Tenant", "c")}
	release := &liqoauth.Remedy{Code: "release"}
	withRemedy := &liqoauth.Error{Code: "key-changed", Message: "it has changed", Advice: "Ask.", Remedy: release}
	step := &liqoauth.Step{
		Notices: []liqoauth.Notice{
			{Type: "providerUnproven"},
			{Type: "conditionHeld", Condition: "Drained", Remedy: &liqoauth.Remedy{Code: "liftCondition", Condition: "Drained"}},
			{Type: "noClusterRole"},
			{Type: "renewalNotCarried"},
			{Type: "sliceCordonHeld", Slice: id("ResourceSlice", "b")},
			{Type: "kubeconfigNotNamed", Secret: id("Secret", "b"), Digest: "SHA256:00"},
			{Type: "cannotRenew", Identity: id("Identity", "b"), Error: failure},
		},
		Wait: liqoauth.Wait{Awaiting: []liqoauth.Awaited{
			{Type: "nonce", From: "peer"},
			{Type: "approval", From: "administrator", Remedy: &liqoauth.Remedy{Code: "approve"}},
			{Type: "resources", Object: id("ResourceSlice", "b"), Remedy: &liqoauth.Remedy{Code: "decideResources", Force: true}},
			{Type: "invitation", Remedy: &liqoauth.Remedy{Code: "invite"}},
		}},
		Refused: []liqoauth.Refused{
			{Object: id("Tenant", "b")},
			{Object: id("Tenant", "b"), Error: failure},
			{Object: id("Tenant", "b"), Error: withRemedy},
		},
	}
	none := liqoauth.ObjectReference{}
	compare(t, noticesOf(step, at), []report{
		{"Notice", "providerUnproven", "", none, "providerUnproven"},
		{"Notice", "conditionHeld", "liftCondition", at.tenant,
			`remedy liftCondition {"condition":"Drained"}: conditionHeld {"condition":"Drained"}`},
		{"Notice", "noClusterRole", "", at.tenant, "noClusterRole"},
		{"Notice", "renewalNotCarried", "", at.tenant, "renewalNotCarried"},
		{"Notice", "sliceCordonHeld", "", *id("ResourceSlice", "b"),
			`sliceCordonHeld {"slice":{"kind":"ResourceSlice","name":"b","namespace":"a"}}`},
		{"Notice", "kubeconfigNotNamed", "", *id("Secret", "b"),
			`kubeconfigNotNamed {"digest":"SHA256:00","secret":{"kind":"Secret","name":"b","namespace":"a"}}`},
		{"Notice", "cannotRenew", "", *id("Identity", "b"),
			`cannotRenew {"identity":{"kind":"Identity","name":"b","namespace":"a"}}: Tenant a/c: it has changed. Ask.`},
	})
	compare(t, awaitedOf(step, at), []report{
		{"Awaited", "approval", "approve", at.tenant, "remedy approve: approval"},
		{"Awaited", "resources", "decideResources", *id("ResourceSlice", "b"),
			`remedy decideResources {"force":true}: resources {"object":{"kind":"ResourceSlice","name":"b","namespace":"a"}}`},
		{"Awaited", "invitation", "invite", none, "remedy invite: invitation"},
	})
	compare(t, refusedOf(step), []report{
		{"Refused", "key-changed", "", *id("Tenant", "c"), "Tenant a/c: it has changed. Ask."},
		{"Refused", "key-changed", "release", *id("Tenant", "b"), "remedy release: Tenant a/b: it has changed. Ask."},
	})
	compare(t, errorOf(fmt.Errorf("read: %w", withRemedy)), []report{
		{"Refused", "key-changed", "release", none, "remedy release: it has changed. Ask."},
	})
	compare(t, errorOf(errors.New("other")), nil)
	compare(t, errorOf(nil), nil)
}

func compare(t *testing.T, found, want []report) {
	t.Helper()
	if len(found) != len(want) {
		t.Fatalf("%+v", found)
	}
	for i := range want {
		if found[i] != want[i] {
			t.Errorf("%+v instead of %+v", found[i], want[i])
		}
	}
}

func TestAReportIsFreshOnce(t *testing.T) {
	session := &session{}
	of := func(texts ...string) (reports []report) {
		for _, text := range texts {
			reports = append(reports, report{reason: "Notice", text: text})
		}
		return reports
	}
	compare(t, session.fresh(of("a", "b", "a"), true), of("a", "b"))
	elsewhere := of("a")
	elsewhere[0].object.Name = "other"
	compare(t, session.fresh(elsewhere, true), nil)
	// What is gone is news when it comes again.
	compare(t, session.fresh(of("b"), true), of("b"))
	// A run that is not completed does not show all.
	compare(t, session.fresh(of("c"), false), of("c"))
	compare(t, session.fresh(of("b", "c"), false), nil)
	awaited := []report{{reason: "Awaited", text: "b"}}
	compare(t, session.fresh(awaited, false), awaited)
	compare(t, session.fresh(of("b", "c"), true), nil)
	// The memory of runs that are never completed ends.
	for i := range mostReported + 1 {
		session.fresh(of(fmt.Sprint(i)), false)
		if len(session.reported) > mostReported {
			t.Fatalf("%d reports are remembered", len(session.reported))
		}
	}
	// It had the two of above as well, so it began anew three runs ago.
	if len(session.reported) != 3 {
		t.Errorf("%d reports are remembered", len(session.reported))
	}
}
