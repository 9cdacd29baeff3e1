package controller

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/transport"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// BoundedLists returns a wrapper for the transport of a client ([rest.Config.Wrap]). Each object in
// a list that it reads is reduced while the answer comes, as by [liqoauth.Bounds.Reduce]. So a page
// of large objects, which a peer may write, is never in memory as a whole.
//
// [rest.Config.Wrap]: https://pkg.go.dev/k8s.io/client-go/rest#Config.Wrap
func BoundedLists(bounds liqoauth.Bounds) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return boundedLists{next: next, bounds: bounds}
	}
}

type boundedLists struct {
	next   http.RoundTripper
	bounds liqoauth.Bounds
}

// WrappedRoundTripper returns the transport that this one wraps, as client-go looks for it.
func (b boundedLists) WrappedRoundTripper() http.RoundTripper { return b.next }

func (b boundedLists) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(request)
	if err != nil || !isJSONOfList(request, answer) {
		return answer, err
	}
	body := answer.Body
	reader, writer := io.Pipe()
	go func() {
		defer func() { _ = body.Close() }()
		err := b.reduce(writer, body)
		// An answer that ends within is not a whole one.
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		writer.CloseWithError(err)
	}()
	answer.Body = reader
	answer.ContentLength = -1
	answer.Header.Del("Content-Length")
	return answer, nil
}

// isJSONOfList says whether an answer may be a list in JSON. The events of a watch are no list.
func isJSONOfList(request *http.Request, answer *http.Response) bool {
	kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return err == nil && kind == "application/json" && request.Method == http.MethodGet &&
		answer.StatusCode == http.StatusOK && request.URL.Query().Get("watch") == ""
}

// mostOfObject is the most bytes of one object, or of another part of an answer. An API server
// stores objects of up to 1.5 MB.
const mostOfObject = 16 << 20

var errPartTooLarge = fmt.Errorf("liqoauth: a part of the answer has more than %d bytes", mostOfObject)

// reduce copies an answer. The items of a list are copied one by one, and are reduced.
func (b boundedLists) reduce(to io.Writer, from io.Reader) error {
	limited := &limitedParts{from: from}
	decoder := json.NewDecoder(limited)
	out := bufio.NewWriter(to)
	part := func() (json.RawMessage, error) {
		limited.left = mostOfObject
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		return raw, err
	}
	limited.left = mostOfObject
	if err := expect(decoder, '{'); err != nil {
		return err
	}
	// What is written is told by the reader of the answer, who gets the error at the end.
	_, _ = out.WriteString("{")
	for first := true; decoder.More(); first = false {
		limited.left = mostOfObject
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		// A text always has JSON.
		field, _ := json.Marshal(name)
		separate(out, first)
		_, _ = out.Write(field)
		_, _ = out.WriteString(":")
		if name != "items" {
			value, err := part()
			if err != nil {
				return err
			}
			_, _ = out.Write(value)
			continue
		}
		if err := b.reduceItems(out, decoder, part); err != nil {
			return err
		}
	}
	if err := expect(decoder, '}'); err != nil {
		return err
	}
	_, _ = out.WriteString("}")
	return out.Flush()
}

func (b boundedLists) reduceItems(out *bufio.Writer, decoder *json.Decoder, part func() (json.RawMessage, error)) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token == nil {
		// Some API servers write an empty list so.
		_, _ = out.WriteString("null")
		return nil
	}
	if token != json.Delim('[') {
		return errNoList
	}
	_, _ = out.WriteString("[")
	for first := true; decoder.More(); first = false {
		item, err := part()
		if err != nil {
			return err
		}
		separate(out, first)
		reduced, err := b.reduceItem(item)
		if err != nil {
			return err
		}
		_, _ = out.Write(reduced)
		// The reader may have gone.
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if err := expect(decoder, ']'); err != nil {
		return err
	}
	_, _ = out.WriteString("]")
	return nil
}

// reduceItem returns an object of a list as it is, or reduced.
func (b boundedLists) reduceItem(item json.RawMessage) (json.RawMessage, error) {
	if len(item) <= b.bounds.Bytes && mostValues(item) <= b.bounds.Values {
		return item, nil
	}
	object := unstructured.Unstructured{}
	if err := json.Unmarshal(item, &object.Object); err != nil {
		return nil, err
	}
	b.bounds.Reduce(&object)
	return json.Marshal(object.Object)
}

// mostValues returns at least as many as there are values: each but the first comes after one of
// these characters.
func mostValues(item json.RawMessage) int {
	found := 1
	for _, character := range [][]byte{{':'}, {','}, {'['}} {
		found += bytes.Count(item, character)
	}
	return found
}

var errNoList = errors.New("liqoauth: the items of the answer are no list")

func separate(out *bufio.Writer, first bool) {
	if !first {
		_, _ = out.WriteString(",")
	}
}

func expect(decoder *json.Decoder, delimiter json.Delim) error {
	token, err := decoder.Token()
	if err == nil && token != delimiter {
		err = fmt.Errorf("liqoauth: the answer has %v, expected %v", token, delimiter)
	}
	return err
}

// limitedParts is a reader that ends with an error after this many bytes.
type limitedParts struct {
	from io.Reader
	left int
}

func (l *limitedParts) Read(into []byte) (int, error) {
	if l.left <= 0 {
		return 0, errPartTooLarge
	}
	read, err := l.from.Read(into[:min(len(into), l.left)])
	l.left -= read
	return read, err
}
