package liqoauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

// machine is what provider and consumer share.
type machine struct {
	library *Library
	// make makes the form with a configuration, and made is the last one that it has made.
	make   func(side map[string]any) func() (*form, error)
	made   *atomic.Pointer[func() (*form, error)]
	answer answerer
	now    func() time.Time
	facts  *facts
	// values are those of Secrets that the module gets.
	values secretValues
}

// form is a machine in the form of the module. The whole configuration goes with each call
// that has a View, so that any instance of the module serves it.
type form struct {
	// opening is a request of such a call, up to the end of the configuration.
	opening []byte
	// side is the configuration without secrets, for a session.
	side []byte
	// secrets are the fields of a session's request with the secrets, each with a comma after it.
	secrets []byte
}

// newMachine makes a machine of one side, which is the name of its calls in the module. The
// arguments are its configuration and its secrets. Without a clock, it has that of the system.
func newMachine(library *Library, name string, side, secrets map[string]any, values secretValues, answer answerer, now func() time.Time) machine {
	if now == nil {
		now = time.Now
	}
	found := machine{
		library: library,
		make: func(side map[string]any) func() (*form, error) {
			return sync.OnceValues(func() (*form, error) { return formOf(name, side, secrets) })
		},
		made:   new(atomic.Pointer[func() (*form, error)]),
		answer: answer,
		now:    now,
		facts:  new(facts),
		values: values,
	}
	found.configure(side)
	return found
}

// configure takes another configuration from the next call on.
func (m *machine) configure(side map[string]any) {
	form := m.make(side)
	m.made.Store(&form)
}

// form returns the JSON of the configuration and the keys.
func (m *machine) form() (*form, error) { return (*m.made.Load())() }

func formOf(name string, side, secrets map[string]any) (*form, error) {
	configuration, err := json.Marshal(side)
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	var fields []byte
	for secret, value := range secrets {
		given, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		fields = fmt.Appendf(fields, `"%s":%s,`, secret, given)
	}
	named := fmt.Appendf(nil, `{"%s":`, name)
	return &form{
		opening: slices.Concat(named, []byte("{"), fields, configuration[1:len(configuration)-1]),
		side:    slices.Concat(named, configuration, []byte("}")),
		secrets: fields,
	}, nil
}

// seen is what one call sees.
type seen struct {
	Peer          liqov1beta1.ClusterID `json:"peer"`
	Objects       []any                 `json:"objects"`
	VouchedNonces []string              `json:"vouchedNonces,omitempty"`
	Now           string                `json:"now"`
	Entropy       []byte                `json:"entropy"`
}

// rounds is how often a call asks backends. A question follows from an answer at most
// a few times for each holder.
const rounds = 256

var errRounds = errors.New("liqoauth: the module asks without end")

// see returns the JSON of what a call sees, without its last brace: the answers follow.
func (m *machine) see(view View) ([]byte, error) {
	given := make([]runtime.Object, len(view.Objects))
	for index, object := range view.Objects {
		given[index] = m.values.of(view.Peer, object)
	}
	view.Objects = given
	objects, err := view.objects()
	if err != nil {
		return nil, err
	}
	entropy := make([]byte, 32)
	// Read never fails.
	rand.Read(entropy)
	defer clear(entropy)
	found, err := json.Marshal(seen{
		Peer:          view.Peer,
		Objects:       objects,
		VouchedNonces: view.VouchedNonces,
		Now:           m.now().UTC().Format(time.RFC3339),
		Entropy:       entropy,
	})
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	return found[:len(found)-1], nil
}

// call sends to the module what was seen, the answers so far, and the call to make.
func (m *machine) call(ctx context.Context, seen []byte, answers []answered, call, value any) error {
	form, err := m.form()
	if err != nil {
		return err
	}
	// The module wants a list, also of none.
	given, err := json.Marshal(append([]answered{}, answers...))
	if err != nil {
		return fmt.Errorf("liqoauth: %w", err)
	}
	defer clear(given)
	action, err := json.Marshal(call)
	if err != nil {
		return fmt.Errorf("liqoauth: %w", err)
	}
	defer clear(action)
	request := bytes.Join([][]byte{
		form.opening, []byte(`,"seen":`), seen, []byte(`,"answers":`), given, []byte(`},"call":`), action, []byte("}}"),
	}, nil)
	return m.library.send(m.facts.within(ctx), request, value)
}

// step makes a call, and lets the backends answer its questions until none is open.
// Each round sees the same objects, time and entropy, so that it goes the same way.
func (m *machine) step(ctx context.Context, view View, order Order) (*Step, error) {
	seen, err := m.see(view)
	if err != nil {
		return nil, err
	}
	defer clear(seen)
	var answers []answered
	for range rounds {
		var found struct {
			Step      Step              `json:"step"`
			Requests  []APIRequest      `json:"requests"`
			Questions []json.RawMessage `json:"questions"`
		}
		if err := m.call(ctx, seen, answers, order.call, &found); err != nil {
			return nil, err
		}
		if len(found.Questions) == 0 {
			for i := range found.Step.Effects {
				found.Step.Effects[i].Request = found.Requests[i]
			}
			return &found.Step, nil
		}
		further, err := answerAll(m.facts.within(ctx), found.Questions, m.answer)
		if err != nil {
			return nil, err
		}
		answers = append(answers, further...)
	}
	return nil, errRounds
}

// Look returns the state of the peering.
func (m *machine) Look(ctx context.Context, view View) (*Status, error) {
	var found struct {
		Status Status `json:"status"`
	}
	err := m.ask(ctx, view, "look", &found)
	return &found.Status, err
}

// Reconcile makes the next step, for the control plane and each slice.
func (m *machine) Reconcile(ctx context.Context, view View) (*Step, error) {
	return m.step(ctx, view, OrderReconcile())
}

// Receive verifies a message of the peer, and makes the step that stores it.
func (m *machine) Receive(ctx context.Context, view View, message Message) (*Step, error) {
	return m.step(ctx, view, OrderReceive(message))
}

// Watches returns what a controller watches, for all peers.
func (m *machine) Watches(ctx context.Context) ([]Watch, error) {
	var found struct {
		Watches []Watch `json:"watches"`
	}
	err := m.ask(ctx, View{Peer: anyPeer}, "watches", &found)
	return found.Watches, err
}

// Interests returns what to look up for the View of a peer.
func (m *machine) Interests(ctx context.Context, peer liqov1beta1.ClusterID) ([]Interest, error) {
	var found struct {
		Interests []Interest `json:"interests"`
	}
	err := m.ask(ctx, View{Peer: peer}, "interests", &found)
	return found.Interests, err
}

// anyPeer stands for a peer where a call concerns all of them.
const anyPeer = "any"

// ask makes a call that asks no backend.
func (m *machine) ask(ctx context.Context, view View, call string, value any) error {
	seen, err := m.see(view)
	if err != nil {
		return err
	}
	defer clear(seen)
	return m.call(ctx, seen, nil, call, value)
}
