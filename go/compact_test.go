package liqoauth

import (
	"encoding/json"
	"reflect"
	"testing"
)

// everyField is an answer of a session with each field that the module writes.
const everyField = `{"againMilliseconds":9007199254740993,"afterMilliseconds":250,"later":{"a":[1,"}\\\""]},` +
	`"next":"apply","questions":[{"type":"name"},{"type":"key","peer":"b"}],"numbers":[1,9007199254740993],` +
	`"step":{"effects":[],"outbox":[{"from":"a","to":"b","type":"nonce","nonce":"Qg=="}],` +
	`"refused":[{"object":{"kind":"Tenant","namespace":"n","name":"t"},"error":{"code":"c","message":"a \"b\" \\ \u00e9"}}],` +
	`"notices":[{"type":"noClusterRole","labelValue":"l","remedy":{"code":"createClusterRole"}}],` +
	`"events":[{"decision":"Invited","peer":"b"},{"details":{}}],"absent":{"kind":"Namespace","name":"x"},` +
	`"wait":{"wakeAt":"2026-11-21T13:00:00Z","awaiting":[{"type":"tenant","from":"peer"}]}},` +
	`"effects":[{"type":"create","id":{"kind":"Secret","namespace":"liqo","name":"é \"q\""},` +
	`"request":{"method":"POST","path":"/api/v1/a%20b","contentType":"application/json","body":587}},` +
	`{"type":"patch","id":{"kind":"Tenant","namespace":"n","name":"t"},"version":{"uid":"u","resourceVersion":"4"},` +
	`"part":"status","request":{"method":"PATCH","path":"/","contentType":"c","body":0}}]}`

func TestAnAnswerOfASessionIsReadAsItsJSON(t *testing.T) {
	for _, text := range []string{
		everyField,
		`{}`,
		`{"next":"rest","againMilliseconds":null,"numbers":[],"step":{"effects":[],"outbox":[],"refused":[],` +
			`"notices":[],"events":[],"absent":null,"wait":{"awaiting":[]}}}`,
		`{"next":"look","afterMilliseconds":1}`,
		`{"next":"","effects":[{"type":null,"id":null}]}`,
	} {
		var found, wanted nextForm
		if err := found.decode([]byte(text)); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			t.Fatal(err)
		}
		// The effects of the step itself are read by nobody.
		wanted.Step.Effects = nil
		if !reflect.DeepEqual(found, wanted) {
			t.Errorf("%+v instead of %+v", found, wanted)
		}
	}
}

func TestAnEventOutlivesItsAnswer(t *testing.T) {
	text := []byte(everyField)
	var form nextForm
	if err := form.decode(text); err != nil {
		t.Fatal(err)
	}
	clear(text)
	if found := string(form.Step.Events[0]); found != `{"decision":"Invited","peer":"b"}` || form.Next != "apply" {
		t.Errorf("%s %q", found, form.Next)
	}
}

func TestNoTextStopsTheReader(t *testing.T) {
	var form nextForm
	for end := range len(everyField) {
		if err := form.decode([]byte(everyField[:end])); err == nil {
			t.Errorf("the first %d bytes are read", end)
		}
	}
	for at := range len(everyField) {
		for _, sign := range []byte("{}[]\",:\\ 0") {
			text := []byte(everyField)
			text[at] = sign
			// Any outcome but a panic will do.
			_ = form.decode(text)
		}
	}
	for _, text := range []string{
		``, `null`, `[]`, `"`, `{"next"}`, `{"next":}`, `{"next":"a",}`, `{"next":"a"]`, `{next:"a"}`, `{"next":"a"}}`,
		`{"numbers":[1,]}`, `{"numbers":[1}`, `{"numbers":{}}`, `{"numbers":["1"]}`, `{"step":[]}`, `{"step":{"wait":[]}}`,
		`{"effects":[{"request":{"body":"1"}}]}`, `{"effects":[{"version":null}]}`, `{"afterMilliseconds":1.5}`, `{"events":[}`,
		`{"unknown":{}{}}`, `{"unknown":[][]}`, `{"unknown":"a""b"}`,
	} {
		if err := form.decode([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestAnAnswerThatCannotBeReadIsAnError(t *testing.T) {
	var form nextForm
	for _, text := range []string{`{"ok":{"next":"rest"}`, `{"ok":`, `{"ok":[]}`, `{"o`} {
		if err := readAnswer([]byte(text), &form); err == nil || isRefused(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
	answer := []byte(`{"ok":{"next":"rest"}}`)
	if err := readAnswer(answer, &form); err != nil || form.Next != "rest" || !isWiped(answer) {
		t.Errorf("%v %q, and %s is left", err, form.Next, answer)
	}
	if err := readAnswer([]byte(`{"error":{"code":"restless"}}`), &form); !isRefused(err) {
		t.Errorf("%v", err)
	}
}
