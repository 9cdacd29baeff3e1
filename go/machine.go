package liqoauth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	liqov1beta1 "github.com/liqotech/liqo/apis/core/v1beta1"
)

// machine is what provider and consumer share. The whole configuration goes with each
// call, so that any instance of the module serves it.
type machine struct {
	library *Library
	// side is the name of the call in the module.
	side      string
	arguments map[string]any
	answer    answerer
	now       func() time.Time
}

// seen is what one call sees.
type seen struct {
	Peer          liqov1beta1.ClusterID `json:"peer"`
	Objects       []any                 `json:"objects"`
	VouchedNonces []string              `json:"vouchedNonces,omitempty"`
	Now           string                `json:"now"`
	Entropy       []byte                `json:"entropy"`
	Answers       []answered            `json:"answers,omitempty"`
}

// rounds is how often a call asks backends. A question follows from an answer at most
// a few times for each holder.
const rounds = 256

var errRounds = errors.New("liqoauth: the module asks without end")

func (m *machine) see(view View) (*seen, error) {
	objects, err := view.objects()
	if err != nil {
		return nil, err
	}
	entropy := make([]byte, 32)
	if _, err := rand.Read(entropy); err != nil {
		return nil, err
	}
	return &seen{
		Peer:          view.Peer,
		Objects:       objects,
		VouchedNonces: view.VouchedNonces,
		Now:           m.now().UTC().Format(time.RFC3339),
		Entropy:       entropy,
	}, nil
}

func (m *machine) call(ctx context.Context, seen *seen, call, value any) error {
	request := map[string]any{"seen": seen, "call": call}
	for name, argument := range m.arguments {
		request[name] = argument
	}
	return m.library.call(ctx, m.side, request, value)
}

// step makes a call, and lets the backends answer its questions until none is open.
// Each round sees the same objects, time and entropy, so that it goes the same way.
func (m *machine) step(ctx context.Context, view View, call any) (*Step, error) {
	seen, err := m.see(view)
	if err != nil {
		return nil, err
	}
	defer clear(seen.Entropy)
	for range rounds {
		var found struct {
			Step      Step              `json:"step"`
			Requests  []APIRequest      `json:"requests"`
			Questions []json.RawMessage `json:"questions"`
		}
		if err := m.call(ctx, seen, call, &found); err != nil {
			return nil, err
		}
		if len(found.Questions) == 0 {
			for i := range found.Step.Effects {
				found.Step.Effects[i].Request = found.Requests[i]
			}
			return &found.Step, nil
		}
		answers, err := answerAll(ctx, found.Questions, m.answer)
		if err != nil {
			return nil, err
		}
		seen.Answers = append(seen.Answers, answers...)
	}
	return nil, errRounds
}

// Look returns the state of the peering.
func (m *machine) Look(ctx context.Context, view View) (*Status, error) {
	seen, err := m.see(view)
	if err != nil {
		return nil, err
	}
	var found struct {
		Status Status `json:"status"`
	}
	err = m.call(ctx, seen, "look", &found)
	return &found.Status, err
}

// Reconcile makes the next step, for the control plane and each slice.
func (m *machine) Reconcile(ctx context.Context, view View) (*Step, error) {
	return m.step(ctx, view, "reconcile")
}

// Receive verifies a message of the peer, and makes the step that stores it.
func (m *machine) Receive(ctx context.Context, view View, message Message) (*Step, error) {
	return m.step(ctx, view, map[string]any{"receive": message})
}

// Watches returns what a controller watches, for all peers.
func (m *machine) Watches(ctx context.Context) ([]Watch, error) {
	var found struct {
		Watches []Watch `json:"watches"`
	}
	err := m.ask(ctx, anyPeer, "watches", &found)
	return found.Watches, err
}

// Interests returns what to look up for the View of a peer.
func (m *machine) Interests(ctx context.Context, peer liqov1beta1.ClusterID) ([]Interest, error) {
	var found struct {
		Interests []Interest `json:"interests"`
	}
	err := m.ask(ctx, peer, "interests", &found)
	return found.Interests, err
}

// anyPeer stands for a peer where a call concerns all of them.
const anyPeer = "any"

func (m *machine) ask(ctx context.Context, peer liqov1beta1.ClusterID, call string, value any) error {
	seen, err := m.see(View{Peer: peer})
	if err != nil {
		return err
	}
	return m.call(ctx, seen, call, value)
}
