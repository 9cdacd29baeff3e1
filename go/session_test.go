package liqoauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// withLines notes each effect that a cluster applies.
func withLines(c *cluster) *[]string {
	lines := new([]string)
	c.applied = func(effect Effect) {
		*lines = append(*lines, effect.Request.Method+" "+effect.Request.Path)
	}
	return lines
}

func TestASessionMakesTheStepsOfCallsWithAView(t *testing.T) {
	library := newLibrary(t, Options{})
	var found [2][2][]string
	for i, authenticate := range []func(*pair, testing.TB){(*pair).authenticate, (*pair).authenticateBySessions} {
		pair := newPair(t, library, newKey(t))
		atProvider, atConsumer := withLines(pair.atProvider), withLines(pair.atConsumer)
		authenticate(pair, t)
		found[i] = [2][]string{*atProvider, *atConsumer}
		objects := slices.Sorted(maps.Keys(pair.atConsumer.objects))
		if !slices.Contains(objects, "Secret/liqo-tenant-cl-provider/kubeconfig-controlplane-cl-provider") {
			t.Errorf("%v", objects)
		}
	}
	for side := range 2 {
		if len(found[0][side]) < 5 || !slices.Equal(found[0][side], found[1][side]) {
			t.Errorf("%s\ninstead of\n%s", strings.Join(found[1][side], "\n"), strings.Join(found[0][side], "\n"))
		}
	}
}

func TestASessionIsToldWhatHasChanged(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	lists := 0
	session := pair.provider.Session("cl-consumer", func(context.Context) ([]runtime.Object, error) {
		lists++
		return pair.atProvider.view("cl-consumer").Objects, nil
	})
	defer session.Close()
	if outbox := pair.atProvider.drive(t, session, OrderInvite()); len(outbox) != 1 || outbox[0].Nonce == "" {
		t.Fatalf("%+v", outbox)
	}
	if lists != 1 {
		t.Errorf("%d lists", lists)
	}
	// The nonce is gone, and only the session is told so.
	nonce := ObjectReference{Kind: "Secret", Namespace: "liqo-tenant-cl-consumer", Name: "liqo-nonce"}
	stored := pair.atProvider.objects[place("Secret", nonce.Namespace, nonce.Name)]
	if stored == nil {
		t.Fatal("there is no nonce")
	}
	session.Forget(nonce)
	next, err := session.Reconcile(t.Context())
	if err != nil || next.IsSettled() || next.IsAtRest() {
		t.Fatalf("%v %+v", err, next)
	}
	// It is seen again, and later forgotten and seen at once.
	if err := session.Observe(pair.atProvider.find(&nonce)); err != nil {
		t.Fatal(err)
	}
	if next, err := session.Reconcile(t.Context()); err != nil || !next.IsAtRest() {
		t.Fatalf("%v %+v", err, next)
	}
	session.Forget(nonce)
	if err := session.Observe(pair.atProvider.find(&nonce)); err != nil {
		t.Fatal(err)
	}
	if next, err := session.Reconcile(t.Context()); err != nil || !next.IsAtRest() || lists != 1 {
		t.Fatalf("%v %+v, %d lists", err, next, lists)
	}
	// A list has no nonce any more.
	delete(pair.atProvider.objects, place("Secret", nonce.Namespace, nonce.Name))
	if next, err := session.Reconcile(t.Context()); err != nil || !next.IsAtRest() {
		t.Fatalf("%v %+v", err, next)
	}
	session.Relist()
	if next, err := session.Reconcile(t.Context()); err != nil || next.IsSettled() || lists != 2 {
		t.Fatalf("%v %+v, %d lists", err, next, lists)
	}
}

func TestAMessageIsHandedOutUntilItIsDelivered(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	session, _ := pair.sessions()
	defer session.Close()
	outbox := pair.atProvider.drive(t, session, OrderInvite())
	again := func() int { return len(pair.atProvider.drive(t, session, OrderReconcile())) }
	if found := again(); found != 0 {
		t.Errorf("%d messages that are delivered", found)
	}
	session.Undelivered(outbox[0])
	if found := again(); found != 1 {
		t.Errorf("%d messages that are not delivered", found)
	}
	// A session that was given up does not know what is delivered.
	session.Close()
	if found := again(); found != 1 {
		t.Errorf("%d messages of a new session", found)
	}
}

func TestAnOrderIsRepeatedAfterItIsOvertaken(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	session, _ := pair.sessions()
	defer session.Close()
	next, err := session.Begin(t.Context(), OrderInvite())
	if err != nil || len(next.Effects) == 0 {
		t.Fatalf("%v %+v", err, next)
	}
	first := next.Effects[0].ID.Name
	session.Overtaken()
	next, err = session.Continue(t.Context())
	if err != nil || next.After != 50*time.Millisecond || !next.IsSettled() || next.IsAtRest() {
		t.Fatalf("%v %+v", err, next)
	}
	next, err = session.Continue(t.Context())
	if err != nil || len(next.Effects) == 0 || next.Effects[0].ID.Name != first {
		t.Fatalf("%v %+v", err, next)
	}
	for range 9 {
		session.Overtaken()
		if _, err = session.Continue(t.Context()); err != nil {
			break
		}
		if _, err = session.Continue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !errors.Is(err, Code("overtaken")) {
		t.Errorf("%v", err)
	}
	// The run has ended with its error, so the next one reconciles.
	if next, err = session.Continue(t.Context()); err != nil || !next.IsAtRest() {
		t.Errorf("%v %+v", err, next)
	}
}

// A late watch: the record names a Tenant that the list does not have.
func TestAnAbsenceIsConfirmedBeforeAnEffect(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	session, ofConsumer := pair.sessions()
	defer session.Close()
	defer ofConsumer.Close()
	pair.exchange(t, session, ofConsumer)
	tenant := ObjectReference{Kind: "Tenant", Namespace: "liqo-tenant-cl-consumer", Name: "cl-consumer"}
	session.Forget(tenant)
	next, err := session.Reconcile(t.Context())
	if err != nil || next.Absent == nil || *next.Absent != tenant || next.IsSettled() {
		t.Fatalf("%v %+v", err, next)
	}
	if err := session.Confirm(pair.atProvider.find(next.Absent)); err != nil {
		t.Fatal(err)
	}
	if next, err = session.Continue(t.Context()); err != nil || !next.IsAtRest() || !next.IsSettled() {
		t.Fatalf("%v %+v", err, next)
	}
	// Now it is gone indeed.
	delete(pair.atProvider.objects, place(tenant.Kind, tenant.Namespace, tenant.Name))
	pair.atProvider.drive(t, session, OrderReconcile())
	session.Forget(tenant)
	pair.atProvider.drive(t, session, OrderReconcile())
	for at := range pair.atProvider.objects {
		if strings.Contains(at, "Binding/") {
			t.Errorf("%s is still there", at)
		}
	}
}

func TestARefusalEndsARunAndNotTheSession(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	session, _ := pair.sessions()
	defer session.Close()
	pair.atProvider.drive(t, session, OrderInvite())
	message := NonceMessage("cl-other", "cl-provider", honestNonce)
	if _, err := session.Receive(t.Context(), message); err == nil || !isRefused(err) {
		t.Fatalf("%v", err)
	}
	in := session.in
	if next, err := session.Continue(t.Context()); err != nil || !next.IsAtRest() || session.in != in {
		t.Errorf("%v %+v", err, next)
	}
	// An order of the other side is no order.
	if _, err := session.Begin(t.Context(), OrderUnauthenticate()); !errors.Is(err, Code("request-form")) {
		t.Errorf("%v", err)
	}
	if session.in != nil {
		t.Error("a session that the module does not understand is kept")
	}
	if next, err := session.Continue(t.Context()); !errors.Is(err, Code("request-form")) {
		t.Errorf("%v %+v: the order is not repeated", err, next)
	}
	if next, err := session.Reconcile(t.Context()); err != nil || !next.IsAtRest() {
		t.Errorf("%v %+v", err, next)
	}
}

func TestWhatCannotBeListedIsNotTakenForGone(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	errDown := errors.New("the API server is down")
	var failure error
	session := pair.provider.Session("cl-consumer", func(context.Context) ([]runtime.Object, error) {
		return pair.atProvider.view("cl-consumer").Objects, failure
	})
	defer session.Close()
	pair.atProvider.drive(t, session, OrderInvite())
	failure = errDown
	session.Relist()
	for range 2 {
		if _, err := session.Reconcile(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("%v", err)
		}
	}
	failure = nil
	if next, err := session.Reconcile(t.Context()); err != nil || !next.IsAtRest() || len(next.Outbox) != 0 {
		t.Errorf("%v %+v", err, next)
	}
}

func TestAPendingAnswerIsPolled(t *testing.T) {
	for _, c := range []struct{ interval, want time.Duration }{{0, 10 * time.Second}, {time.Minute, time.Minute}} {
		t.Run(fmt.Sprint(c.interval), func(t *testing.T) {
			pair := newPair(t, newLibrary(t, Options{}), newKey(t))
			authority := newAuthority(t)
			config := ProviderConfig{ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem}
			pair.provider = pair.provider.library.Provider(config, pair.recordKey, Backends{
				Names: nobodyElse, Now: testNow,
				Signer: func(context.Context, SigningRequest) (string, error) { return "", ErrPending },
			})
			_, tenant := pair.invite(t)
			session, _ := pair.sessions()
			defer session.Close()
			session.PendingInterval = c.interval
			pair.atProvider.drive(t, session, OrderReceive(tenant))
			next, err := session.Reconcile(t.Context())
			if err != nil || !next.IsAtRest() || next.Again != c.want {
				t.Errorf("%v %+v", err, next)
			}
		})
	}
}

func TestASessionVouchesForNonces(t *testing.T) {
	for _, vouched := range [][]string{nil, {honestNonce}} {
		pair := newPair(t, newLibrary(t, Options{}), newKey(t))
		pair.atProvider.put(object("v1", "Namespace", "", "liqo-tenant-cl-consumer", map[string]any{
			"liqo.io/remote-cluster-id": "cl-consumer", "liqo.io/tenant-namespace": "true",
		}))
		secret := object("v1", "Secret", "liqo-tenant-cl-consumer", "liqo-nonce", nil)
		secret["data"] = map[string]any{"nonce": base64.StdEncoding.EncodeToString([]byte(honestNonce))}
		pair.atProvider.put(secret)
		session, ofConsumer := pair.sessions()
		defer session.Close()
		defer ofConsumer.Close()
		session.VouchedNonces = vouched
		nonce := NonceMessage("cl-provider", "cl-consumer", honestNonce)
		tenants := pair.atConsumer.drive(t, ofConsumer, OrderReceive(nonce))
		next, err := session.Receive(t.Context(), tenants[0])
		if isTaken := err == nil && !next.IsSettled(); isTaken != (vouched != nil) {
			t.Errorf("vouched for %v: %v %+v", vouched, err, next)
		}
	}
}
