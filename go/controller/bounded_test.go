package controller

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	liqoauth "git.example.com/liqo-auth/liqo-auth/go"
)

// answers is a transport that gives each request the same answer.
type answers struct {
	status int
	header string
	body   io.Reader
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	if a.body == nil {
		return nil, errNoAnswer
	}
	header := http.Header{"Content-Type": {a.header}, "Content-Length": {"1"}}
	return &http.Response{
		StatusCode: a.status, Header: header, ContentLength: 1, Body: io.NopCloser(a.body),
	}, nil
}

var errNoAnswer = errors.New("no answer")

var small = liqoauth.Bounds{Bytes: 300, Values: 12}

func asked(t *testing.T, url string, answer answers) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return BoundedLists(small)(answer).RoundTrip(request)
}

func read(t *testing.T, answer *http.Response) (string, error) {
	t.Helper()
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

const (
	pods = "https://172.19.0.3:6443/api/v1/pods?limit=16"
	item = `{"metadata":{"name":"a","managedFields":[]},"data":{"x":"é\u003c","n":1.50}}`
)

func TestWhatIsWithinTheBoundsStaysAsItIs(t *testing.T) {
	for _, body := range []string{
		`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"x"},"items":[` + item + `,` + item + `]}`,
		`{"items":[],"kind":"PodList"}`,
		`{"items":null}`,
		`{"kind":"Pod","metadata":{"name":"` + strings.Repeat("a", 1000) + `"}}`,
		`{}`,
	} {
		answer, err := asked(t, pods, answers{200, "application/json; charset=utf-8", strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		if answer.ContentLength != -1 || answer.Header.Get("Content-Length") != "" {
			t.Errorf("%d bytes are announced", answer.ContentLength)
		}
		if found, err := read(t, answer); err != nil || found != body {
			t.Errorf("%v: %s", err, found)
		}
	}
}

// An object that has exactly what it may have is not even decoded: its fields keep their order.
func TestTheBoundsThemselvesAreWithin(t *testing.T) {
	begin, end := `{"z":"`, `","metadata":{"name":"<"}}`
	full := begin + strings.Repeat("A", small.Bytes-len(begin+end)) + end
	values := `{"z":[1,2,3,4,5],"metadata":{"name":"<"},"data":"x"}`
	if len(full) != small.Bytes || mostValues([]byte(values)) != small.Values {
		t.Fatalf("%d bytes, %d values", len(full), mostValues([]byte(values)))
	}
	for _, object := range []string{full, values} {
		body := `{"items":[` + object + `]}`
		answer, err := asked(t, pods, answers{200, "application/json", strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		if found, err := read(t, answer); err != nil || found != body {
			t.Errorf("%v: %s", err, found)
		}
	}
}

func TestLargeObjectsOfAListAreReducedWhileTheyAreRead(t *testing.T) {
	large := map[string]string{
		"bytes":  `{"metadata":{"name":"a","managedFields":[]},"data":"` + strings.Repeat("A", 300) + `"}`,
		"values": `{"metadata":{"name":"a"},"data":[0,1,2,3,4,5,6,7,8,9,10]}`,
	}
	for over, object := range large {
		body := `{"items":[` + item + `,` + object + `,` + item + `],"kind":"PodList"}`
		answer, err := asked(t, pods, answers{200, "application/json", strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		reduced := `{"metadata":{"name":"a"},"overLimit":"` + over + `"}`
		expected := `{"items":[` + item + `,` + reduced + `,` + item + `],"kind":"PodList"}`
		if found, err := read(t, answer); err != nil || found != expected {
			t.Errorf("%v: %s", err, found)
		}
	}
}

func TestWhatIsNoListInJSONIsNotRead(t *testing.T) {
	for url, answer := range map[string]answers{
		pods + "&watch=true": {200, "application/json", nil},
		pods:                 {404, "application/json", nil},
		pods + "&a":          {200, "application/vnd.kubernetes.protobuf", nil},
		pods + "&b":          {200, "", nil},
	} {
		answer.body = strings.NewReader("no JSON")
		found, err := asked(t, url, answer)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := read(t, found); err != nil || text != "no JSON" || found.ContentLength != 1 {
			t.Errorf("%s: %v: %s", url, err, text)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, pods, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := BoundedLists(small)(answers{200, "application/json", strings.NewReader("x")}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := read(t, found); err != nil || text != "x" {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := asked(t, pods, answers{}); !errors.Is(err, errNoAnswer) {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerThatCannotBeReadIsAnError(t *testing.T) {
	for _, body := range []string{
		"", "[]", "{", `{"items":[`, `{"items":[{}`, `{"items":{}}`, `{"items":1}`, `{"items":[}`, `{"a"}`,
		`{"items":[` + item, `{"a":`, `{"items"`, `{"items":[[` + strings.Repeat("1,", 300) + `1]]}`,
	} {
		answer, err := asked(t, pods, answers{200, "application/json", strings.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := read(t, answer); err == nil {
			t.Errorf("%q: %s", body, text)
		}
	}
}

// The name of a field is a text. Nothing is read after another one.
func TestAFieldHasAName(t *testing.T) {
	answer, err := asked(t, pods, answers{200, "application/json", strings.NewReader(`{1:2}`)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := read(t, answer)
	if text != "" || err == nil || !strings.Contains(err.Error(), "'1'") {
		t.Errorf("%q: %v", text, err)
	}
}

// endless never ends a text.
type endless struct{}

func (endless) Read(into []byte) (int, error) {
	return copy(into, bytes.Repeat([]byte{'a'}, len(into))), nil
}

func TestAPartOfAnAnswerIsBounded(t *testing.T) {
	for _, begin := range []string{`{"`, `{"a":"`, `{"items":[{"a":"`, ``} {
		body := io.MultiReader(strings.NewReader(begin+`"`), strings.NewReader(""))
		if begin != "" {
			body = io.MultiReader(strings.NewReader(begin), endless{})
		}
		answer, err := asked(t, pods, answers{200, "application/json", body})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err == nil || begin != "" && !errors.Is(err, errPartTooLarge) {
			t.Errorf("%q: %v", begin, err)
		}
	}
}

// items is a list of objects of 1.4 MB, each of which is made when it is read.
type items struct {
	left int
	rest []byte
}

func (i *items) Read(into []byte) (int, error) {
	if len(i.rest) == 0 {
		if i.left == 0 {
			return 0, io.EOF
		}
		i.left--
		comma := ","
		if i.left == 0 {
			comma = "]}"
		}
		i.rest = fmt.Appendf(nil, `{"metadata":{"name":"a"},"data":"%s"}%s`, strings.Repeat("A", 1_400_000), comma)
	}
	read := copy(into, i.rest)
	i.rest = i.rest[read:]
	return read, nil
}

func TestAPageIsNeverInMemoryAsAWhole(t *testing.T) {
	body := io.MultiReader(strings.NewReader(`{"items":[`), &items{left: 50})
	before := live()
	answer, err := asked(t, pods, answers{200, "application/json", body})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	decoder := json.NewDecoder(answer.Body)
	for range 3 {
		if _, err := decoder.Token(); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for ; decoder.More(); found++ {
		var object map[string]any
		if err := decoder.Decode(&object); err != nil || object["overLimit"] != "bytes" {
			t.Fatalf("%v: %v", err, object)
		}
		if grown := int64(live()) - int64(before); grown > 16<<20 {
			t.Fatalf("%d bytes more are live", grown)
		}
	}
	if found != 50 {
		t.Errorf("%d objects", found)
	}
}

// A reader that goes away before the end leaves nothing behind.
func TestAnAnswerThatNobodyReadsIsClosed(t *testing.T) {
	closed := make(chan struct{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pods, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := io.MultiReader(strings.NewReader(`{"items":[`), &items{left: 50})
	answer, err := BoundedLists(small)(closing{answers{200, "application/json", body}, closed}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	<-closed
	if wrapped := BoundedLists(small)(http.DefaultTransport).(boundedLists); wrapped.WrappedRoundTripper() != http.DefaultTransport {
		t.Error("the transport is hidden")
	}
}

// closing says when the body of its answer is closed.
type closing struct {
	answers
	closed chan struct{}
}

func (c closing) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.answers.RoundTrip(request)
	if err == nil {
		answer.Body = closer{answer.Body, c.closed}
	}
	return answer, err
}

type closer struct {
	io.Reader
	closed chan struct{}
}

func (c closer) Close() error {
	close(c.closed)
	return nil
}
