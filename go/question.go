package liqoauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrPending is what a backend returns if it answers later. The step names what it
// waits for; reconcile again when the answer may be there.
var ErrPending = errors.New("liqoauth: the answer is pending")

// Denied is what a backend returns if it refuses for good.
type Denied struct {
	// Reason is shown to people, and to the peer if the protocol has a place for it.
	Reason string
}

// Error returns the reason.
func (d Denied) Error() string { return d.Reason }

// answered is a question with its answer, for the next call.
type answered struct {
	Question json.RawMessage `json:"question"`
	Answer   any             `json:"answer"`
}

// answerer answers one question by its type.
type answerer func(ctx context.Context, kind string, question json.RawMessage) (any, error)

// answerForm is the form of an answer in the module.
type answerForm struct {
	Type  string `json:"type"`
	Value any    `json:"value,omitempty"`
	// Reason is set for denied and failed alone. It may be empty.
	Reason *string `json:"reason,omitempty"`
}

// answerAll answers every question. An error of one backend is an answer, too: it
// must not keep the others from theirs.
func answerAll(ctx context.Context, questions []json.RawMessage, answer answerer) ([]answered, error) {
	var answers []answered
	for _, question := range questions {
		// A backend whose question is left open at the end of the context is not asked again.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		kind, err := kindIn(question)
		if err != nil {
			return nil, fmt.Errorf("liqoauth: question of the module: %w", err)
		}
		value, err := answer(ctx, kind, question)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		answers = append(answers, answered{Question: question, Answer: answerOf(value, err)})
	}
	return answers, nil
}

func answerOf(value any, err error) answerForm {
	var denied Denied
	switch {
	case errors.Is(err, ErrPending):
		return answerForm{Type: "pending"}
	case errors.As(err, &denied):
		return answerForm{Type: "denied", Reason: &denied.Reason}
	case err != nil:
		reason := err.Error()
		return answerForm{Type: "failed", Reason: &reason}
	default:
		return answerForm{Type: "ready", Value: value}
	}
}

// read decodes a question, and lets its backend answer.
func read[Q, A any](question json.RawMessage, answer func(Q) (A, error)) (any, error) {
	var form Q
	if err := json.Unmarshal(question, &form); err != nil {
		return nil, err
	}
	return answer(form)
}
