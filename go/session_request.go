package liqoauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// present returns the fields of a request that are the same in each round of a call: the keys,
// the time and the randomness.
func (s *Session) present() ([]byte, error) {
	form, err := s.machine.form()
	if err != nil {
		return nil, err
	}
	entropy := make([]byte, 32)
	// Read never fails.
	rand.Read(entropy)
	defer clear(entropy)
	interval := s.PendingInterval
	if interval == 0 {
		interval = pendingInterval
	}
	fields, err := json.Marshal(struct {
		Now              string   `json:"now"`
		Entropy          []byte   `json:"entropy"`
		VouchedNonces    []string `json:"vouchedNonces,omitempty"`
		PollMilliseconds int64    `json:"pollMilliseconds"`
	}{s.machine.now().UTC().Format(time.RFC3339), entropy, s.VouchedNonces, interval.Milliseconds()})
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	defer clear(fields)
	return slices.Concat([]byte(`{`), form.keys, fields[1:len(fields)-1]), nil
}

// send sends a request with what is to be told. Without a call, it has nothing else. If the
// module does not take the request, the session is given up: it may differ from what its
// caller knows.
func (s *Session) send(ctx context.Context, call string, present []byte, answers []answered, value any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	request, err := s.request(call, present, answers)
	if err != nil {
		return err
	}
	defer clear(request)
	library := s.machine.library
	answer, err := library.converse(s.machine.facts.within(ctx), s, request)
	if err != nil {
		return err
	}
	err = readAnswer(answer, value)
	if err == nil || isRefused(err) {
		s.isTold()
	} else {
		library.giveUp(ctx, s)
	}
	return err
}

func (s *Session) request(call string, present []byte, answers []answered) ([]byte, error) {
	var request bytes.Buffer
	size := s.leaving.size + len(call) + len(present) + 1024
	request.Grow(size)
	request.WriteString(`{"session":{"seen":[`)
	separator := ""
	for _, object := range s.leaving.seen {
		request.WriteString(separator)
		request.Write(object.form)
		separator = ","
	}
	request.WriteString(`]`)
	if len(s.leaving.gone) > 0 {
		gone, err := json.Marshal(slices.Collect(maps.Keys(s.leaving.gone)))
		if err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		request.WriteString(`,"gone":`)
		request.Write(gone)
	}
	if s.told == nil {
		form, err := s.machine.form()
		if err != nil {
			return nil, err
		}
		request.WriteString(`,"open":{"peer":` + strconv.Quote(string(s.peer)) + `,"side":`)
		request.Write(form.side)
		request.WriteString(`}`)
	}
	if call != "" {
		came, err := json.Marshal(s.takeOutcomes())
		if err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		given, err := json.Marshal(append([]answered{}, answers...))
		if err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		defer clear(given)
		request.WriteString(`,"outcomes":`)
		request.Write(came)
		request.WriteString(`,` + call + `,"with":`)
		request.Write(present)
		request.WriteString(`,"answers":`)
		request.Write(given)
		request.WriteString(`}`)
	}
	request.WriteString(`}}`)
	return request.Bytes(), nil
}

// takeOutcomes returns what became of the last answer, once.
func (s *Session) takeOutcomes() outcomes {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.outcomes
	s.outcomes = outcomes{}
	return taken
}
