package liqoauth

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// formOfObject returns an object as JSON, with its version and kind. Most objects are maps, and
// each change of one is written for the module. So maps are written here, without reflection.
func formOfObject(object runtime.Object) ([]byte, error) {
	value, err := named(object)
	if err != nil {
		return nil, err
	}
	if found, ok := object.(*unstructured.Unstructured); ok {
		form := objectForm{text: newForm()}
		if err := form.write(found.Object); err != nil {
			clear(form.text)
			return nil, fmt.Errorf("liqoauth: %w", err)
		}
		return form.text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("liqoauth: %w", err)
	}
	return text, nil
}

// forms are the places of forms that nobody needs any more. They are wiped. A session writes its
// objects all the time, so new places would be the largest part of its garbage.
var forms sync.Pool

// mostForm is the largest place that is kept.
const mostForm = 64 << 10

// newForm returns an empty place.
func newForm() []byte {
	if place, isKept := forms.Get().(*[]byte); isKept {
		return (*place)[:0]
	}
	return make([]byte, 0, 2048)
}

// wipeForm wipes a form, and keeps its place for others. Nobody may have the form any more.
func wipeForm(form []byte) {
	clear(form)
	if place := form[:0]; 0 < cap(place) && cap(place) <= mostForm {
		forms.Put(&place)
	}
}

// objectForm is a text that leaves no copies of itself when it grows: an object may be a Secret.
type objectForm struct{ text []byte }

func (f *objectForm) write(value any) error {
	switch value := value.(type) {
	case map[string]any:
		f.add('{')
		separator := ""
		for key, field := range value {
			f.append(separator)
			f.string(key)
			f.add(':')
			if err := f.write(field); err != nil {
				return err
			}
			separator = ","
		}
		f.add('}')
	case []any:
		f.add('[')
		separator := ""
		for _, item := range value {
			f.append(separator)
			if err := f.write(item); err != nil {
				return err
			}
			separator = ","
		}
		f.add(']')
	case string:
		f.string(value)
	case int64:
		f.append(strconv.FormatInt(value, 10))
	default:
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		f.append(string(text))
	}
	return nil
}

// string writes a text. One with more than letters, digits and plain signs is rare.
func (f *objectForm) string(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			// A text has a form in any case.
			escaped, _ := json.Marshal(text)
			f.append(string(escaped))
			return
		}
	}
	f.add('"')
	f.append(text)
	f.add('"')
}

func (f *objectForm) add(sign byte) {
	f.grow(1)
	f.text = append(f.text, sign)
}

func (f *objectForm) append(text string) {
	f.grow(len(text))
	f.text = append(f.text, text...)
}

func (f *objectForm) grow(length int) {
	if needed := len(f.text) + length; needed > cap(f.text) {
		larger := append(make([]byte, 0, 2*needed), f.text...)
		clear(f.text)
		f.text = larger
	}
}
