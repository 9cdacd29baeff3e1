package liqoauth

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// memoryOf returns the memory of a session's instance.
func memoryOf(t *testing.T, session *Session) []byte {
	t.Helper()
	memory, ok := session.in.module.Memory().Read(0, session.in.module.Memory().Size())
	if !ok || isWiped(memory) {
		t.Fatal("the memory cannot be read")
	}
	return memory
}

// noObjects is the list of a peer without objects.
func noObjects(context.Context) ([]runtime.Object, error) { return nil, nil }

func TestTheSessionThatWasNotUsedForTheLongestTimeIsGivenUp(t *testing.T) {
	library := newLibrary(t, Options{})
	if library.sessions.most != 64 {
		t.Fatalf("at most %d sessions", library.sessions.most)
	}
	pair := newPair(t, library, newKey(t))
	first, _ := pair.sessions()
	pair.atProvider.drive(t, first, OrderInvite())
	memory := memoryOf(t, first)
	sessions := []*Session{first}
	reconcile := func(session *Session) {
		t.Helper()
		if next, err := session.Reconcile(t.Context()); err != nil || !next.IsAtRest() {
			t.Fatalf("%v %+v", err, next)
		}
	}
	for number := range 64 {
		peer := liqov1beta1.ClusterID(fmt.Sprintf("cl-%d", number))
		session := pair.provider.Session(peer, noObjects)
		defer session.Close()
		sessions = append(sessions, session)
		if number == 63 {
			if isWiped(memory) || first.in == nil {
				t.Fatal("one of 64 sessions is given up")
			}
			// From now on, the second one is the oldest.
			reconcile(first)
			second := memoryOf(t, sessions[1])
			reconcile(session)
			if !isWiped(second) || sessions[1].in != nil || isWiped(memory) {
				t.Fatal("another session than the oldest is given up")
			}
			continue
		}
		reconcile(session)
	}
	reconcile(sessions[1])
	if len(library.sessions.holders) != 64 {
		t.Errorf("%d sessions have instances", len(library.sessions.holders))
	}
	// The first one is used again.
	for _, session := range sessions[2:] {
		reconcile(session)
	}
	if !isWiped(memory) || first.in != nil {
		t.Fatal("the memory of a session that is given up is not wiped")
	}
	outbox := pair.atProvider.drive(t, first, OrderReconcile())
	if len(outbox) != 1 || outbox[0].Nonce == "" {
		t.Errorf("%+v instead of the nonce", outbox)
	}
	first.Close()
}

func TestASessionIsOpenedAnewAfterATrap(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	ofProvider, ofConsumer := pair.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	nonces := pair.atProvider.drive(t, ofProvider, OrderInvite())
	tenants := pair.atConsumer.drive(t, ofConsumer, OrderReceive(nonces[0]))
	traps := 0
	trap := func() {
		ofProvider.in.call = replaced{ofProvider.in.call, func() ([]uint64, error) {
			traps++
			return nil, errors.New("unreachable")
		}}
	}
	// The module stops before the order has a step, and in the middle of its effects.
	trap()
	memory := memoryOf(t, ofProvider)
	next, err := ofProvider.Receive(t.Context(), tenants[0])
	if !errors.Is(err, ErrTrap) || !isWiped(memory) || ofProvider.in != nil {
		t.Fatalf("%v %+v", err, next)
	}
	next, err = ofProvider.Continue(t.Context())
	if err != nil || len(next.Effects) == 0 {
		t.Fatalf("%v %+v: the order is lost", err, next)
	}
	pair.atProvider.apply(t, &Step{Effects: next.Effects[:1]})
	if err := ofProvider.Applied(pair.atProvider.find(next.Effects[0].ID)); err != nil {
		t.Fatal(err)
	}
	trap()
	if _, err := ofProvider.Continue(t.Context()); !errors.Is(err, ErrTrap) {
		t.Fatal(err)
	}
	var identities []Message
	next, err = ofProvider.Continue(t.Context())
	for range 16 {
		if err != nil {
			t.Fatal(err)
		}
		if next.IsAtRest() {
			identities = next.Outbox
			break
		}
		pair.atProvider.applyFor(t, ofProvider, next)
		trap()
		if _, err := ofProvider.Continue(t.Context()); !errors.Is(err, ErrTrap) {
			t.Fatal(err)
		}
		next, err = ofProvider.Continue(t.Context())
	}
	// The nonce is named again, since nobody knows that it was delivered.
	for _, message := range identities {
		if message.Identity != nil {
			pair.atConsumer.drive(t, ofConsumer, OrderReceive(message))
		}
	}
	if !pair.isAuthenticated(t) || traps < 4 {
		t.Errorf("not authenticated after %d traps", traps)
	}
}

func TestNoKeyStaysInASession(t *testing.T) {
	library := newLibrary(t, Options{})
	key := newKey(t)
	pair := newPair(t, library, key)
	ofProvider, ofConsumer := pair.sessions()
	defer ofProvider.Close()
	defer ofConsumer.Close()
	pair.exchange(t, ofProvider, ofConsumer)
	inBase64 := []byte(base64.StdEncoding.EncodeToString(pair.recordKey[:]))
	for _, session := range []*Session{ofProvider, ofConsumer} {
		memory := memoryOf(t, session)
		if !bytes.Contains(memory, []byte("liqo-tenant-cl-")) {
			t.Error("the search finds nothing at all")
		}
		for name, secret := range map[string][]byte{
			"the record key": pair.recordKey[:], "the record key in base64": inBase64, "the private key": key.Seed(),
			"half of the record key": pair.recordKey[:16], "the other half": pair.recordKey[16:],
		} {
			if bytes.Contains(memory, secret) {
				t.Errorf("%s is left in the module's memory", name)
			}
		}
	}
}

func TestAClosedSessionLeavesNothingInItsInstance(t *testing.T) {
	library := newLibrary(t, Options{Instances: 1})
	pair := newPair(t, library, newKey(t))
	session, _ := pair.sessions()
	nonce := pair.atProvider.drive(t, session, OrderInvite())[0].Nonce
	memory := memoryOf(t, session)
	if !bytes.Contains(memory, []byte("liqo-tenant-cl-consumer")) {
		t.Fatal("the search finds nothing at all")
	}
	session.Close()
	if len(library.idle) != 1 || len(library.sessions.holders) != 0 {
		t.Errorf("%d idle instances, %d sessions", len(library.idle), len(library.sessions.holders))
	}
	for _, left := range []string{"liqo-tenant-cl-consumer", nonce, base64.StdEncoding.EncodeToString([]byte(nonce))} {
		if bytes.Contains(memory, []byte(left)) {
			t.Errorf("%q is left in the module's memory", left)
		}
	}
	// A session that is closed can be used again, and closed twice.
	if outbox := pair.atProvider.drive(t, session, OrderReconcile()); len(outbox) != 1 {
		t.Errorf("%+v", outbox)
	}
	session.Close()
	session.Close()
}

func TestASessionOutlivesTheContextOfACall(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	ctx, cancel := context.WithCancel(t.Context())
	authority, asked := newAuthority(t), 0
	pair.provider = library.Provider(
		ProviderConfig{ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem},
		pair.recordKey, Backends{Signer: authority.sign, Now: testNow, Names: func(context.Context, NameRequest) (bool, error) {
			if asked++; asked == 1 {
				cancel()
			}
			return false, nil
		}})
	_, tenant := pair.invite(t)
	session, _ := pair.sessions()
	defer session.Close()
	// The context ends while a backend answers.
	if _, err := session.Begin(ctx, OrderReceive(tenant)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	in := session.in
	if _, err := session.Continue(ctx); !errors.Is(err, context.Canceled) || in == nil || session.in != in {
		t.Fatalf("%v: the session is given up", err)
	}
	next, err := session.Continue(t.Context())
	if err != nil || next.IsSettled() || session.in != in {
		t.Errorf("%v %+v: the order is lost", err, next)
	}
}

func TestASessionWaitsWhileAllOthersAreBusy(t *testing.T) {
	library := newLibrary(t, Options{Sessions: 1})
	provider := newPair(t, library, newKey(t)).provider
	isListing, goesOn := make(chan struct{}), make(chan struct{})
	busy := provider.Session("cl-busy", func(context.Context) ([]runtime.Object, error) {
		close(isListing)
		<-goesOn
		return nil, nil
	})
	ended := make(chan error)
	go func() {
		_, err := busy.Reconcile(context.Background())
		ended <- err
	}()
	<-isListing
	other := provider.Session("cl-other", noObjects)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for _, session := range []*Session{busy, other} {
		if _, err := session.Reconcile(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
	go func() {
		_, err := other.Reconcile(context.Background())
		ended <- err
	}()
	close(goesOn)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if len(library.sessions.holders) != 1 || busy.in != nil {
		t.Errorf("%d sessions have instances", len(library.sessions.holders))
	}
}

func TestNoSessionAfterClose(t *testing.T) {
	library := newLibrary(t, Options{})
	pair := newPair(t, library, newKey(t))
	session, never := pair.sessions()
	pair.atProvider.drive(t, session, OrderInvite())
	memory := memoryOf(t, session)
	if err := library.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !isWiped(memory) {
		t.Error("a session is not wiped")
	}
	for _, session := range []*Session{session, never} {
		if _, err := session.Reconcile(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
		session.Close()
	}
}

func TestWhatWaitsForACallIsBounded(t *testing.T) {
	pair := newPair(t, newLibrary(t, Options{}), newKey(t))
	pair.authenticate(t)
	session, _ := pair.sessions()
	defer session.Close()
	pair.atProvider.drive(t, session, OrderReconcile())
	bulk := string(bytes.Repeat([]byte("A"), 1_000_000))
	for i := range 8 {
		slice := largeSlice(i, "spec", bulk)
		pair.atProvider.put(slice)
		id := ObjectReference{Kind: "ResourceSlice", Namespace: "liqo-tenant-cl-consumer", Name: fmt.Sprintf("slice-%d", i)}
		if err := session.Observe(pair.atProvider.find(&id)); err != nil {
			t.Fatal(err)
		}
		if session.waiting.size > mostWaiting {
			t.Fatalf("%d bytes wait", session.waiting.size)
		}
	}
	if !session.isStale {
		t.Error("what does not wait is not listed")
	}
	next, err := session.Begin(t.Context(), OrderSetCondition("Drained"))
	if err != nil || next.IsSettled() {
		t.Fatalf("%v %+v", err, next)
	}
	if session.waiting.size != 0 || session.leaving.size != 0 {
		t.Errorf("%d and %d bytes wait", session.waiting.size, session.leaving.size)
	}
}
