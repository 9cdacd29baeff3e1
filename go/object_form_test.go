package liqoauth

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheFormOfAMapIsItsJSON(t *testing.T) {
	object := map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"empty":      map[string]any{},
		"none":       []any{},
		"null":       nil,
		"list":       []any{int64(-7), 1.5, true, false, "a", map[string]any{"b": "c"}},
		"other":      json.Number("12"),
		"strings":    []string{"a"},
		"texts": []any{
			"", "plain ~ text", "a \"quoted\" \\ one", "line\nbreak", "\x00\x1f\x7f", "é 😀 \u2028", "a\xff\xfeb", "<&>",
		},
		"\"key\"": strings.Repeat("long", 4000),
	}
	form, err := formOfObject(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	reference, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var found, wanted any
	if err := json.Unmarshal(form, &found); err != nil {
		t.Fatalf("%v: %s", err, form)
	}
	if err := json.Unmarshal(reference, &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(found, wanted) {
		t.Errorf("%v instead of %v", found, wanted)
	}
}

func TestTheFormOfATypedObjectHasItsKind(t *testing.T) {
	form, err := formOfObject(&corev1.Secret{Data: map[string][]byte{"a": []byte("b")}})
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]any
	if err := json.Unmarshal(form, &found); err != nil || found["kind"] != "Secret" || found["apiVersion"] != "v1" {
		t.Errorf("%v %v", err, found)
	}
}

func TestAValueWithoutJSONHasNoForm(t *testing.T) {
	for _, value := range []any{
		math.NaN(), map[string]any{"a": math.Inf(1)}, []any{func() {}},
	} {
		object := map[string]any{"apiVersion": "v1", "kind": "Secret", "value": value}
		if form, err := formOfObject(&unstructured.Unstructured{Object: object}); err == nil || form != nil {
			t.Errorf("%v: %s", value, form)
		}
	}
	if _, err := formOfObject(&unstructured.Unstructured{Object: map[string]any{}}); err == nil {
		t.Error("an object without a kind has a form")
	}
}

func TestAFormThatGrowsIsWiped(t *testing.T) {
	form := objectForm{text: make([]byte, 0, 8)}
	form.append("secret")
	before := form.text[:6]
	form.append("s of a cluster")
	if string(before) != strings.Repeat("\x00", 6) || string(form.text) != "secrets of a cluster" {
		t.Errorf("%q %q", before, form.text)
	}
	var failed *json.UnsupportedValueError
	if err := form.write(math.NaN()); !errors.As(err, &failed) {
		t.Error(err)
	}
}

func TestThePlaceOfAFormIsUsedAgain(t *testing.T) {
	isAgain := false
	for range 100 {
		form := append(newForm(), "secret"...)
		place := form[:1]
		wipeForm(form)
		if !isWiped(form) {
			t.Fatalf("%q is left", form)
		}
		next := newForm()
		if len(next) != 0 || cap(next) > mostForm {
			t.Fatalf("%d of %d bytes", len(next), cap(next))
		}
		isAgain = isAgain || &next[:1][0] == &place[0]
		// Neither of these is kept.
		wipeForm(make([]byte, mostForm+1))
		wipeForm(nil)
	}
	if !isAgain {
		t.Error("each form has a new place")
	}
}
