package liqoauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Next is what to do next in a run of a [Session].
type Next struct {
	// Step is the last step of the run. Its effects are to be applied, in their order, up to
	// the first that fails. Tell the session what became of each ([Session.Applied],
	// [Session.Overtaken]), and go on with [Session.Continue]. If the step has effects and
	// names an absent object, ask the store for it before ([Session.Confirm]); if it is there,
	// go on without applying any of the effects. A step with effects has no messages.
	Step
	// After is how long to wait before [Session.Continue], if there is nothing to apply.
	// Another program has changed an object first.
	After time.Duration
	// Again is how long to wait for the next run after a run that is at rest, if no object of
	// the peer changes. It is 0 if only a change of an object leads on.
	Again time.Duration

	isAtRest bool
}

// IsAtRest reports whether the run has ended: nothing is left to do, except for the delivery
// of the step's messages.
func (n *Next) IsAtRest() bool { return n.isAtRest }

var errBodies = errors.New("liqoauth: answer of the module: the lengths of the bodies are wrong")

// nextForm is an answer of the module's session.
type nextForm struct {
	Next              string            `json:"next"`
	Questions         []json.RawMessage `json:"questions"`
	Step              Step              `json:"step"`
	Effects           []effectForm      `json:"effects"`
	AfterMilliseconds int64             `json:"afterMilliseconds"`
	// Forgotten are objects that the module had no room for, and has room for now.
	Forgotten         []ObjectReference `json:"forgotten"`
	Numbers           []int64           `json:"numbers"`
	AgainMilliseconds int64             `json:"againMilliseconds"`
}

// effectForm is an effect whose object or patch is the body of its request.
type effectForm struct {
	Effect
	Request requestForm `json:"request"`
}

// requestForm is a request without its body.
type requestForm struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	ContentType string `json:"contentType"`
	// Body is the length of the body.
	Body int `json:"body"`
}

// read returns what the form says. The bodies of the requests follow each other.
func (f *nextForm) read(bodies []byte) (*Next, error) {
	next := &Next{
		Step:     f.Step,
		After:    time.Duration(f.AfterMilliseconds) * time.Millisecond,
		Again:    time.Duration(f.AgainMilliseconds) * time.Millisecond,
		isAtRest: f.Next == "rest",
	}
	if len(f.Numbers) != len(next.Outbox) {
		return nil, fmt.Errorf("liqoauth: answer of the module: %d numbers of %d messages", len(f.Numbers), len(next.Outbox))
	}
	for i, number := range f.Numbers {
		next.Outbox[i].number = number
	}
	next.Effects = make([]Effect, len(f.Effects))
	for i, found := range f.Effects {
		length := found.Request.Body
		if length < 0 || length > len(bodies) {
			return nil, errBodies
		}
		// An append to a body does not reach the next one.
		body := json.RawMessage(bodies[:length:length])
		bodies = bodies[length:]
		effect := found.Effect
		effect.Request = APIRequest{found.Request.Method, found.Request.Path, found.Request.ContentType, body}
		switch effect.Type {
		case "create", "replace":
			effect.Object = body
		case "patch":
			effect.Patch = body
		}
		next.Effects[i] = effect
	}
	if len(bodies) > 0 {
		return nil, errBodies
	}
	return next, nil
}
