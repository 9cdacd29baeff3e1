package liqoauth

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
	objects "k8s.io/apimachinery/pkg/runtime"
)

// counted counts the requests of the module's sessions.
func counted(session *Session) *int {
	requests := new(int)
	session.in.call = countedCalls{session.in.call, requests}
	return requests
}

// countedCalls counts its calls.
type countedCalls struct {
	api.Function
	calls *int
}

func (c countedCalls) Call(ctx context.Context, params ...uint64) ([]uint64, error) {
	*c.calls++
	return c.Function.Call(ctx, params...)
}

// withBackends is a pair whose provider has these functions, with a Tenant for it.
func withBackends(t *testing.T, names func(context.Context, NameRequest) (bool, error)) (*pair, Message) {
	t.Helper()
	return withBackendsIn(t, newLibrary(t, Options{}), names)
}

func withBackendsIn(t *testing.T, library *Library, names func(context.Context, NameRequest) (bool, error)) (*pair, Message) {
	t.Helper()
	pair, authority := newPair(t, library, newKey(t)), newAuthority(t)
	config := ProviderConfig{ClusterID: "cl-provider", APIServer: "https://172.19.0.3:6443", APIServerCA: authority.pem}
	backends := Backends{Names: names, Signer: authority.sign, Now: testNow}
	pair.provider = library.Provider(config, pair.recordKey, backends)
	_, tenant := pair.invite(t)
	return pair, tenant
}

func TestABackendAnswersWithinARequest(t *testing.T) {
	asked := 0
	pair, tenant := withBackends(t, func(context.Context, NameRequest) (bool, error) {
		asked++
		return false, nil
	})
	session, _ := pair.sessions()
	defer session.Close()
	pair.atProvider.drive(t, session, OrderReconcile())
	requests := counted(session)
	next, err := session.Receive(t.Context(), tenant)
	if err != nil || len(next.Effects) == 0 || asked == 0 || *requests != 1 {
		t.Errorf("%v %+v: %d questions in %d requests", err, next, asked, *requests)
	}
}

func TestABackendMayUseTheLibrary(t *testing.T) {
	var library *Library
	closed := make(chan error, 1)
	var once sync.Once
	pair, tenant := withBackends(t, func(ctx context.Context, _ NameRequest) (bool, error) {
		once.Do(func() {
			go func() { closed <- library.Close(context.Background()) }()
			for !library.running.hasEnded() {
				runtime.Gosched()
			}
		})
		// The library is being closed, and waits for this call.
		_, err := library.SignNonce(ctx, newKey(t), []byte(honestNonce))
		return false, err
	})
	library = pair.provider.library
	session, _ := pair.sessions()
	_, err := session.Receive(t.Context(), tenant)
	if err == nil || !isRefused(err) {
		t.Errorf("%v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestAPanicOfABackendGoesOn(t *testing.T) {
	fails, asked := true, 0
	library := newLibrary(t, Options{Sessions: 1})
	pair, tenant := withBackendsIn(t, library, func(context.Context, NameRequest) (bool, error) {
		asked++
		if fails {
			panic("a backend's own fault")
		}
		return false, nil
	})
	session, other := pair.sessions()
	defer session.Close()
	defer other.Close()
	panics(t, "a backend's own fault", func() error {
		_, err := session.Receive(t.Context(), tenant)
		return err
	})
	if asked != 1 {
		t.Errorf("%d questions", asked)
	}
	// The place is free for others.
	soon, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := other.Reconcile(soon); err != nil {
		t.Error(err)
	}
	fails = false
	if next, err := session.Receive(t.Context(), tenant); err != nil || len(next.Effects) == 0 {
		t.Errorf("%v %+v", err, next)
	}
}

func TestAPanicOfTheObjectsHidesNone(t *testing.T) {
	pair, tenant := withBackends(t, nobodyElse)
	fails := true
	session := pair.provider.Session("cl-consumer", func(context.Context) ([]objects.Object, error) {
		if fails {
			panic("the store's own fault")
		}
		return pair.atProvider.view("cl-consumer").Objects, nil
	})
	defer session.Close()
	receive := func() error {
		_, err := session.Receive(t.Context(), tenant)
		return err
	}
	panics(t, "the store's own fault", receive)
	fails = false
	// Nobody has invited the peer if its objects are hidden.
	if err := receive(); err != nil {
		t.Error(err)
	}
}

// panics fails unless a call panics with this value.
func panics(t *testing.T, expected string, call func() error) {
	t.Helper()
	defer func() {
		if reason := recover(); reason != expected {
			t.Errorf("%v", reason)
		}
	}()
	t.Errorf("%v instead of a panic", call())
}

func TestABackendIsNotAskedAgainAtTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	pair, tenant := withBackends(t, func(context.Context, NameRequest) (bool, error) {
		asked++
		cancel()
		return false, nil
	})
	session, _ := pair.sessions()
	defer session.Close()
	if _, err := session.Receive(ctx, tenant); !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("%v after %d questions", err, asked)
	}
}

// The goroutine of a call may end in a backend, as a test does by t.FailNow.
func TestAGoroutineThatEndsInABackendLosesItsInstance(t *testing.T) {
	fails := true
	pair, tenant := withBackends(t, func(context.Context, NameRequest) (bool, error) {
		if fails {
			runtime.Goexit()
		}
		return false, nil
	})
	session, _ := pair.sessions()
	defer session.Close()
	pair.atProvider.drive(t, session, OrderReconcile())
	memory := memoryOf(t, session)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = session.Receive(context.Background(), tenant)
	}()
	<-ended
	if session.in != nil || !isWiped(memory) {
		t.Error("an instance in the middle of a request is kept")
	}
	fails = false
	if next, err := session.Receive(t.Context(), tenant); err != nil || len(next.Effects) == 0 {
		t.Errorf("%v %+v", err, next)
	}
}

func TestAQuestionIsLeftOpen(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	answers := func(context.Context, string, json.RawMessage) (any, error) { return true, nil }
	question := json.RawMessage(`{"type":"name"}`)
	for name, test := range map[string]struct {
		asking   *asking
		question json.RawMessage
	}{
		"the context has ended":     {&asking{ctx: canceled, answer: answers}, question},
		"a backend has panicked":    {&asking{ctx: t.Context(), answer: answers, panicked: "once"}, question},
		"the module asks too often": {&asking{ctx: t.Context(), answer: answers, asked: rounds}, question},
		"it cannot be read":         {&asking{ctx: t.Context(), answer: answers}, json.RawMessage(`{`)},
		"the answer has no form": {&asking{ctx: t.Context(), answer: func(context.Context, string, json.RawMessage) (any, error) {
			return func() {}, nil
		}}, question},
	} {
		if length := test.asking.ask(test.question); length != 0 {
			t.Errorf("%s: an answer of %d bytes", name, length)
		}
	}
}

// A question that is left open makes the call go on in another request, which has the answers of
// the one before.
func TestNoQuestionIsAskedTwiceForOneThatIsLeftOpen(t *testing.T) {
	pair, tenant := withBackends(t, nobodyElse)
	session, _ := pair.sessions()
	defer session.Close()
	asked := map[string]int{}
	answer := session.machine.answer
	session.machine.answer = func(ctx context.Context, kind string, question json.RawMessage) (any, error) {
		asked[string(question)]++
		if len(asked) == 2 && asked[string(question)] == 1 {
			// It has no form, so the question is left open.
			return func() {}, nil
		}
		return answer(ctx, kind, question)
	}
	next, err := session.Receive(t.Context(), tenant)
	if err != nil || len(next.Effects) == 0 || len(asked) < 2 {
		t.Fatalf("%v %+v: %d questions", err, next, len(asked))
	}
	open := 0
	for question, times := range asked {
		if open += times - 1; times > 2 {
			t.Errorf("%s: asked %d times", question, times)
		}
	}
	if open != 1 {
		t.Errorf("%v: %d questions are asked again", asked, open)
	}
}

func TestATakenAnswerIsWiped(t *testing.T) {
	asking := &asking{ctx: t.Context(), answer: func(context.Context, string, json.RawMessage) (any, error) {
		return nil, errors.New("the key is lost")
	}}
	length := asking.ask(json.RawMessage(`{"type":"signature"}`))
	ready, place := asking.ready, make([]byte, length)
	asking.take(place)
	if string(place) != `{"type":"failed","reason":"the key is lost"}` || !isWiped(ready) || asking.ready != nil || asking.asked != 1 {
		t.Errorf("%s, and %q is left after %d questions", place, ready, asking.asked)
	}
}

func TestAnAnswerThatIsNotTakenIsWiped(t *testing.T) {
	asking := &asking{ready: []byte(`{"type":"ready","value":"secret"}`)}
	asking.goOn()
	if !isWiped(asking.ready) {
		t.Errorf("%s is left", asking.ready)
	}
}

func TestNoCallBeginsAfterTheEnd(t *testing.T) {
	var calls running
	if !calls.enter() {
		t.Error("no call begins before the end")
	}
	calls.leave()
	calls.end()
	if calls.enter() {
		t.Error("a call begins after the end")
	}
}

func TestTheHostAsksAndAnswersWithinTheModulesMemory(t *testing.T) {
	library := newLibrary(t, Options{})
	in, err := library.instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	asking := &asking{ctx: t.Context(), answer: func(context.Context, string, json.RawMessage) (any, error) {
		asked++
		return true, nil
	}}
	ctx, end := asking.within(t.Context()), uint64(in.module.Memory().Size())
	stack := []uint64{end - 1, 2}
	if backendAsk(ctx, in.module, stack); stack[0] != 0 || asked != 0 {
		t.Error("a question outside of the memory is asked")
	}
	asking.ready = []byte("{}")
	backendAnswer(ctx, in.module, []uint64{end - 1, 2})
	if asking.ready == nil {
		t.Error("an answer is written outside of the memory")
	}
	// Without a session, nothing is asked and nothing is written.
	place, _, err := in.put(t.Context(), []byte(`{"type":"name"}`))
	if err != nil {
		t.Fatal(err)
	}
	stack = []uint64{place, 15}
	backendAsk(t.Context(), in.module, stack)
	backendAnswer(t.Context(), in.module, []uint64{place, 15})
	if found, _ := in.module.Memory().Read(api.DecodeU32(place), 15); stack[0] != 0 || string(found) != `{"type":"name"}` {
		t.Errorf("%d, %s", stack[0], found)
	}
	stack = []uint64{place, 15}
	if backendAsk(ctx, in.module, stack); stack[0] == 0 || asked != 1 {
		t.Error("a question is left open")
	}
}

// A backend may call a session. It does not wait for one, since that one may wait for it.
func TestABackendDoesNotWaitForASession(t *testing.T) {
	for name, test := range map[string]struct {
		sessions int
		isOwn    bool
		refused  error
	}{
		"its own session":                  {2, true, ErrBackendWaits},
		"another session without a place":  {1, false, ErrBackendWaits},
		"another session that has a place": {2, false, nil},
	} {
		var called *Session
		asked := 0
		library := newLibrary(t, Options{Sessions: test.sessions})
		pair, tenant := withBackendsIn(t, library, func(ctx context.Context, _ NameRequest) (bool, error) {
			asked++
			if _, err := called.Look(ctx); !errors.Is(err, test.refused) || (err == nil) != (test.refused == nil) {
				t.Errorf("%s: %v", name, err)
			}
			return false, nil
		})
		session, other := pair.sessions()
		called = other
		if test.isOwn {
			called = session
		}
		soon, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		next, err := session.Receive(soon, tenant)
		cancel()
		if err != nil || len(next.Effects) == 0 || asked == 0 {
			t.Errorf("%s: %v, %d questions", name, err, asked)
		}
		session.Close()
		other.Close()
	}
}
