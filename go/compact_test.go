package liqoauth

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
)

// everyField is an answer of a session with each field that the module writes.
const everyField = `{"forgotten":[{"kind":"Secret","namespace":"a","name":"b"}],"againMilliseconds":9007199254740993,"afterMilliseconds":250,"later":{"a":[1,"}\\\""]},` +
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

// everyFieldOf are a notice and an awaited answer, each with all its fields.
func everyFieldOf(object *ObjectReference) (Notice, Awaited) {
	remedy := &Remedy{
		Code: "c", ID: "i", UserARN: "u", AccessKeyID: "a", Object: object, Force: true, Slice: object,
		Resources: map[string]string{"cpu": "2"},
		Condition: "Drained", LabelValue: "l", Fingerprint: "f", Digest: "d",
	}
	notice := Notice{
		Type: "t \"q\"", Remedy: remedy, LabelValue: "l", Condition: "Cordoned", Fingerprint: "f", Identity: object,
		Until: "2026-11-21T13:00:00Z", Error: &Error{Code: "c", Message: "m"}, Slice: object, Secret: object, Digest: "d",
		Resources: map[string]string{"memory": "4Gi"},
	}
	awaited := Awaited{
		Type: "t", From: "peer", Remedy: remedy, ID: "i", Object: object, UserARN: "u", AccessKeyID: "a",
	}
	return notice, awaited
}

func TestANoticeIsReadWithAllItsFields(t *testing.T) {
	notice, awaited := everyFieldOf(&ObjectReference{Kind: "Secret", Namespace: "n", Name: "s"})
	for _, value := range []any{notice, awaited, *notice.Remedy} {
		for of, i := reflect.ValueOf(value), 0; i < of.NumField(); i++ {
			if of.Field(i).IsZero() {
				t.Errorf("%T is tried without %s", value, of.Type().Field(i).Name)
			}
		}
	}
	var found Notice
	if err := found.decode(jsonOf(t, notice)); err != nil || !reflect.DeepEqual(found, notice) {
		t.Errorf("%v: %+v instead of %+v", err, found, notice)
	}
	var foundAwaited Awaited
	if err := foundAwaited.decode(jsonOf(t, awaited)); err != nil || !reflect.DeepEqual(foundAwaited, awaited) {
		t.Errorf("%v: %+v instead of %+v", err, foundAwaited, awaited)
	}
	// Without a value, a field is as it was.
	found, foundAwaited = Notice{}, Awaited{}
	for _, err := range []error{found.decode(jsonOf(t, Notice{})), foundAwaited.decode(jsonOf(t, Awaited{}))} {
		if err != nil || !reflect.DeepEqual(found, Notice{}) || foundAwaited != (Awaited{}) {
			t.Errorf("%v: %+v %+v", err, found, foundAwaited)
		}
	}
}

func TestAQuestionHasItsType(t *testing.T) {
	for text, wanted := range map[string]string{
		`{"csr":"\n","type":"certificate","peer":"{\"type\":\"a\"}"}`: "certificate",
		`{"name":"type"}`:                 "",
		"{\n  \"type\": \"signature\"\n}": "signature",
	} {
		if kind, err := kindIn([]byte(text)); err != nil || kind != wanted {
			t.Errorf("%s: %q, %v", text, kind, err)
		}
	}
	for _, text := range []string{``, `[]`, `{"type":1}`, `{"type":"a"`} {
		if kind, err := kindIn([]byte(text)); err == nil {
			t.Errorf("%s has the type %q", text, kind)
		}
	}
	asked := func(context.Context, string, json.RawMessage) (any, error) { return "answered", nil }
	if found, err := answerAll(t.Context(), []json.RawMessage{json.RawMessage(`{`)}, asked); err == nil {
		t.Errorf("a question without an end is answered: %+v", found)
	}
}

// jsonOf returns the JSON of a value.
func jsonOf(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
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
