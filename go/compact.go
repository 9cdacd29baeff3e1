package liqoauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// The module writes its answers as JSON without white space. The answers of a session are read
// here: encoding/json goes through a text twice, and finds each field by reflection, which took
// a twentieth of a session's handshake. What is rare is left to encoding/json.

var errCompact = errors.New("it is no compact JSON")

// fieldsOf takes the fields of a map, one by one.
func fieldsOf(text []byte, take func(name, value []byte) error) error {
	rest, isMap := bytes.CutPrefix(text, []byte("{"))
	for isMap && !isEnd(rest, '}') {
		length := lengthOf(rest)
		if length < len(`""`) || length >= len(rest) || rest[0] != '"' || rest[length] != ':' {
			return errCompact
		}
		name := rest[1 : length-1]
		value, after, err := nextOf(rest[length+1:], '}')
		if err != nil {
			return err
		}
		if err := take(name, value); err != nil {
			return err
		}
		rest = after
	}
	if !isMap {
		return errCompact
	}
	return nil
}

// itemsOf reads the items of a list.
func itemsOf[T any](text []byte, read func(item *T, value []byte) error) ([]T, error) {
	rest, isList := bytes.CutPrefix(text, []byte("["))
	if !isList {
		return nil, errCompact
	}
	items := []T{}
	for !isEnd(rest, ']') {
		value, after, err := nextOf(rest, ']')
		if err != nil {
			return nil, err
		}
		var item T
		if err := read(&item, value); err != nil {
			return nil, err
		}
		items, rest = append(items, item), after
	}
	return items, nil
}

// isEnd reports whether nothing is left but the end of a map or a list.
func isEnd(rest []byte, end byte) bool { return len(rest) == 1 && rest[0] == end }

// nextOf returns the first value of a text, and what follows it and its comma.
func nextOf(text []byte, end byte) (value, rest []byte, err error) {
	length := lengthOf(text)
	if length == 0 || length >= len(text) {
		return nil, nil, errCompact
	}
	value, rest = text[:length], text[length:]
	switch {
	case rest[0] == ',' && len(rest) > 1 && rest[1] != end:
		return value, rest[1:], nil
	case isEnd(rest, end):
		return value, rest, nil
	default:
		return nil, nil, errCompact
	}
}

// lengthOf returns the length of the first value of a text. It is 0 if there is none.
func lengthOf(text []byte) int {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			length := quotedIn(text[at:])
			if length == 0 {
				return 0
			}
			at += length - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
		case ',', ':':
			if depth == 0 {
				return at
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return at + 1
		}
	}
	return 0
}

// quotedIn returns the length of the string that a text begins with, quotes included. It is 0
// if the string has no end.
func quotedIn(text []byte) int {
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return 0
}

// readText reads a string.
func readText(found *string, value []byte) error {
	if isPlain := len(value) > 1 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0; isPlain {
		*found = string(value[1 : len(value)-1])
		return nil
	}
	return json.Unmarshal(value, found)
}

// readNumber reads a number. Without one, it is 0.
func readNumber[N int | int64](found *N, value []byte) error {
	if string(value) == "null" {
		return nil
	}
	number, err := strconv.ParseInt(string(value), 10, 64)
	*found = N(number)
	return err
}

// readRaw copies JSON that is read later.
func readRaw(found *json.RawMessage, value []byte) error {
	*found = bytes.Clone(value)
	return nil
}

// readByReflection reads a value that is rare.
func readByReflection[T any](found *T, value []byte) error { return json.Unmarshal(value, found) }

func (f *nextForm) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "next":
			err = readText(&f.Next, value)
		case "questions":
			f.Questions, err = itemsOf(value, readRaw)
		case "step":
			err = f.Step.decode(value)
		case "effects":
			f.Effects, err = itemsOf(value, (*effectForm).decode)
		case "afterMilliseconds":
			err = readNumber(&f.AfterMilliseconds, value)
		case "forgotten":
			f.Forgotten, err = itemsOf(value, readByReflection[ObjectReference])
		case "numbers":
			f.Numbers, err = itemsOf(value, readNumber[int64])
		case "againMilliseconds":
			err = readNumber(&f.AgainMilliseconds, value)
		}
		return err
	})
}

// decode reads a step, whose effects are elsewhere.
func (s *Step) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "outbox":
			s.Outbox, err = itemsOf(value, readByReflection[Message])
		case "refused":
			s.Refused, err = itemsOf(value, readByReflection[Refused])
		case "notices":
			s.Notices, err = itemsOf(value, (*Notice).decode)
		case "events":
			s.Events, err = itemsOf(value, readRaw)
		case "absent":
			s.Absent, err = referenceIn(value)
		case "wait":
			err = s.Wait.decode(value)
		}
		return err
	})
}

func (e *effectForm) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "type":
			err = readText(&e.Type, value)
		case "id":
			e.ID, err = referenceIn(value)
		case "version":
			e.Version = new(Version)
			err = e.Version.decode(value)
		case "part":
			err = readText(&e.Part, value)
		case "request":
			err = e.Request.decode(value)
		}
		return err
	})
}

func (r *requestForm) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "method":
			err = readText(&r.Method, value)
		case "path":
			err = readText(&r.Path, value)
		case "contentType":
			err = readText(&r.ContentType, value)
		case "body":
			err = readNumber(&r.Body, value)
		}
		return err
	})
}

func (v *Version) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "uid":
			err = readText(&v.UID, value)
		case "resourceVersion":
			err = readText(&v.ResourceVersion, value)
		}
		return err
	})
}

// referenceIn reads a reference; null is none.
func referenceIn(text []byte) (*ObjectReference, error) {
	if string(text) == "null" {
		return nil, nil
	}
	found := new(ObjectReference)
	return found, fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "kind":
			err = readText(&found.Kind, value)
		case "namespace":
			err = readText(&found.Namespace, value)
		case "name":
			err = readText(&found.Name, value)
		}
		return err
	})
}

func (w *Wait) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "wakeAt":
			err = readText(&w.WakeAt, value)
		case "awaiting":
			w.Awaiting, err = itemsOf(value, (*Awaited).decode)
		}
		return err
	})
}

// decode reads a notice. A provider that misses Liqo's ClusterRoles has two in each step.
func (n *Notice) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "type":
			err = readText(&n.Type, value)
		case "remedy":
			n.Remedy, err = remedyIn(value)
		case "labelValue":
			err = readText(&n.LabelValue, value)
		case "condition":
			err = readText(&n.Condition, value)
		case "fingerprint":
			err = readText(&n.Fingerprint, value)
		case "identity":
			n.Identity, err = referenceIn(value)
		case "until":
			err = readText(&n.Until, value)
		case "error":
			err = readByReflection(&n.Error, value)
		case "slice":
			n.Slice, err = referenceIn(value)
		case "secret":
			n.Secret, err = referenceIn(value)
		case "digest":
			err = readText(&n.Digest, value)
		case "resources":
			err = readByReflection(&n.Resources, value)
		}
		return err
	})
}

func (a *Awaited) decode(text []byte) error {
	return fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "type":
			err = readText(&a.Type, value)
		case "from":
			err = readText(&a.From, value)
		case "remedy":
			a.Remedy, err = remedyIn(value)
		case "id":
			err = readText(&a.ID, value)
		case "object":
			a.Object, err = referenceIn(value)
		case "userArn":
			err = readText(&a.UserARN, value)
		case "accessKeyId":
			err = readText(&a.AccessKeyID, value)
		}
		return err
	})
}

// remedyIn reads a remedy; null is none.
func remedyIn(text []byte) (*Remedy, error) {
	if string(text) == "null" {
		return nil, nil
	}
	found := new(Remedy)
	return found, fieldsOf(text, func(name, value []byte) (err error) {
		switch string(name) {
		case "code":
			err = readText(&found.Code, value)
		case "id":
			err = readText(&found.ID, value)
		case "userArn":
			err = readText(&found.UserARN, value)
		case "accessKeyId":
			err = readText(&found.AccessKeyID, value)
		case "object":
			found.Object, err = referenceIn(value)
		case "force":
			err = readByReflection(&found.Force, value)
		case "slice":
			found.Slice, err = referenceIn(value)
		case "resources":
			err = readByReflection(&found.Resources, value)
		case "condition":
			err = readText(&found.Condition, value)
		case "labelValue":
			err = readText(&found.LabelValue, value)
		case "fingerprint":
			err = readText(&found.Fingerprint, value)
		case "digest":
			err = readText(&found.Digest, value)
		}
		return err
	})
}

// kindIn returns the type of a question. The module asks in compact JSON; the tests' vectors have
// white space.
func kindIn(question []byte) (string, error) {
	var form struct {
		Type string `json:"type"`
	}
	err := fieldsOf(question, func(name, value []byte) error {
		if string(name) == "type" {
			return readText(&form.Type, value)
		}
		return nil
	})
	if err != nil {
		err = json.Unmarshal(question, &form)
	}
	return form.Type, err
}
