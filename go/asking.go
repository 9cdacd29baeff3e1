package liqoauth

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// asking is how the backends of a session answer in the middle of a request. A question that
// is left open comes back with the answer to the request. So a request can always end, and
// no backend has to answer here.
type asking struct {
	// ctx is the caller's. The module's work has one that does not end.
	ctx    context.Context
	answer answerer
	// asked is how many questions were asked.
	asked int
	// given is the answers so far. The module forgets them at the end of the request.
	given []answered
	// ready is the answer that the module is going to take.
	ready []byte
	// panicked is what a backend has panicked with. It goes on after the request.
	panicked any
}

// ask lets a backend answer, and returns the length of the answer. It is 0 if the question is
// left open.
func (a *asking) ask(question json.RawMessage) int {
	if a.asked == rounds || a.panicked != nil || a.ctx.Err() != nil {
		return 0
	}
	a.asked++
	defer func() {
		if reason := recover(); reason != nil {
			a.panicked = reason
		}
	}()
	answers, err := answerAll(a.ctx, []json.RawMessage{question}, a.answer)
	if err != nil {
		return 0
	}
	ready, err := json.Marshal(answers[0].Answer)
	if err != nil {
		return 0
	}
	a.given = append(a.given, answers...)
	a.ready = ready
	return len(ready)
}

// take copies the answer, and wipes it.
func (a *asking) take(place []byte) {
	copy(place, a.ready)
	clear(a.ready)
	a.ready = nil
}

// goOn wipes an answer that the module has not taken, and lets the panic of a backend go on.
func (a *asking) goOn() {
	clear(a.ready)
	if a.panicked != nil {
		panic(a.panicked)
	}
}

// ErrBackendWaits is returned by a call of a session that a backend of a session makes, if the
// call would have to wait: the call that it waits for may itself wait for this backend.
var ErrBackendWaits = errors.New("liqoauth: a backend has called a session that is busy, or for which no place is free")

// backendKey is the key of what tells a backend's context.
type backendKey struct{}

// forBackends is the context that the backends of a session get.
func forBackends(ctx context.Context) context.Context {
	return context.WithValue(ctx, backendKey{}, true)
}

func isBackends(ctx context.Context) bool { return ctx.Value(backendKey{}) != nil }

// askingKey is the key of a request's asking in its context.
type askingKey struct{}

func (a *asking) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, askingKey{}, a)
}

// backendAsk takes the address and the length of a question. It puts the length of the answer
// in place of them. Without a session, each question is left open.
func backendAsk(ctx context.Context, module api.Module, stack []uint64) {
	length := 0
	a, isAsking := ctx.Value(askingKey{}).(*asking)
	question, ok := module.Memory().Read(api.DecodeU32(stack[0]), api.DecodeU32(stack[1]))
	if ok && isAsking {
		length = a.ask(slices.Clone(question))
	}
	stack[0] = api.EncodeI32(int32(length))
}

// backendAnswer takes an address, and the length that backendAsk has returned. It writes the
// answer there.
func backendAnswer(ctx context.Context, module api.Module, stack []uint64) {
	a, isAsking := ctx.Value(askingKey{}).(*asking)
	place, ok := module.Memory().Read(api.DecodeU32(stack[0]), api.DecodeU32(stack[1]))
	if ok && isAsking {
		a.take(place)
	}
}
