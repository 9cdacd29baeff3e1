package liqoauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// present returns the fields of a request that are the same in each round of a call: the record
// key, the time and the randomness.
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
	vouched := []byte("[]")
	if len(s.VouchedNonces) > 0 {
		if vouched, err = json.Marshal(s.VouchedNonces); err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
	}
	// The capacity suffices, so that no copy of a secret stays behind.
	fields := make([]byte, 0, len(form.secrets)+len(vouched)+256)
	fields = append(fields, '{')
	fields = append(fields, form.secrets...)
	fields = append(fields, `"now":"`...)
	fields = s.machine.now().UTC().AppendFormat(fields, time.RFC3339)
	fields = append(fields, `","entropy":"`...)
	fields = base64.StdEncoding.AppendEncode(fields, entropy)
	fields = append(fields, `","vouchedNonces":`...)
	fields = append(fields, vouched...)
	fields = append(fields, `,"pollMilliseconds":`...)
	return strconv.AppendInt(fields, interval.Milliseconds(), 10), nil
}

// send sends a request with what is to be told. Without a call, it has nothing else. It reads
// the value of the answer, and returns the bytes that follow the answer. If the module does not
// take the request, the session is given up: it may differ from what its caller knows.
func (s *Session) send(ctx context.Context, call string, present []byte, answers []answered, value any) (following []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	given := []byte("[]")
	if len(answers) > 0 {
		if given, err = json.Marshal(answers); err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		defer clear(given)
	}
	request, err := s.request(call, present, given)
	if err != nil {
		return nil, err
	}
	library := s.machine.library
	answer, err := library.converse(s.machine.facts.within(ctx), s, request)
	if err != nil {
		return nil, err
	}
	// The answer itself has no newline.
	answer, following, _ = bytes.Cut(answer, []byte("\n"))
	err = readAnswer(answer, value)
	if err == nil || isRefused(err) {
		s.isTold()
	} else {
		library.giveUp(ctx, s)
	}
	return following, err
}

// request returns the parts of a request with what is to be told, and of the objects after it.
// They are joined in the module alone, so that no copy of a secret is made here.
func (s *Session) request(call string, present, given []byte) ([][]byte, error) {
	var lengths []byte
	var objects [][]byte
	for _, object := range s.leaving.seen {
		lengths = append(strconv.AppendInt(lengths, int64(len(object.form)), 10), ',')
		objects = append(objects, object.form)
	}
	parts := [][]byte{[]byte(`{"session":{"seen":[`), bytes.TrimSuffix(lengths, []byte(",")), []byte(`]`)}
	add := func(field string, value []byte) { parts = append(parts, []byte(`,"`+field+`":`), value) }
	if len(s.leaving.gone) > 0 {
		gone, err := json.Marshal(slices.Collect(maps.Keys(s.leaving.gone)))
		if err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		add("gone", gone)
	}
	if s.told == nil {
		form, err := s.machine.form()
		if err != nil {
			return nil, err
		}
		add("open", fmt.Appendf(nil, `{"peer":%s,"side":%s}`, strconv.Quote(string(s.peer)), form.side))
	}
	if call != "" {
		came, err := json.Marshal(s.takeOutcomes())
		if err != nil {
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		add("outcomes", came)
		parts = append(parts, []byte(","+call))
		add("with", present)
		parts = append(parts, []byte(`,"answers":`), given, []byte(`}`))
	}
	parts = append(parts, []byte("}}\n"))
	return append(parts, objects...), nil
}

// takeOutcomes returns what became of the last answer, once.
func (s *Session) takeOutcomes() outcomes {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.outcomes
	s.outcomes = outcomes{}
	return taken
}
