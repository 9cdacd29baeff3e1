package main

import (
	"slices"
	"strings"
	"testing"
)

const example = `package example

func (t *Type) method(a, b int, ok bool) (err error) {
	if a < b && !ok {
		return err
	}
	t.size = a
	_ = b
	if ok {
		t.tell(a == b)
	} else {
		return err
	}
	return nil
}
`

func exampleSource(t *testing.T) *source {
	source := &source{path: "go/example.go", packageName: "example", text: []byte(example)}
	if _, err := source.list(6); err != nil {
		t.Fatal(err)
	}
	return source
}

func TestEachKindOfFaultIsListed(t *testing.T) {
	want := []string{
		`go/example.go:5: Type.method: return err is left out`,
		`go/example.go:7: Type.method: t.size = a is left out`,
		`go/example.go:4: Type.method: a < b && !ok is negated`,
		`go/example.go:4: Type.method: a < b && !ok becomes ||`,
		`go/example.go:4: Type.method: a < b becomes <=`,
		`go/example.go:4: Type.method: !ok becomes ok`,
		`go/example.go:9: Type.method: ok is negated`,
		`go/example.go:10: Type.method: t.tell(a == b) is left out`,
		`go/example.go:10: Type.method: a == b becomes !=`,
	}
	var got []string
	for place, fault := range exampleSource(t).faults {
		got = append(got, fault.String())
		if fault.number != 7+place {
			t.Errorf("%s has the number %d", fault, fault.number)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed:\n%s", strings.Join(got, "\n"))
	}
}

func TestFaultsLieInEachOtherAndLinesKeepTheirNumbers(t *testing.T) {
	text := withEdits(exampleSource(t))
	lines := strings.Split(text, "\n")
	if len(lines) != strings.Count(example, "\n")+1 {
		t.Errorf("the text has other lines:\n%s", text)
	}
	want := `	if plantedFault(9) != (func() bool { plantedLeft := plantedComparison(11, "<", "<=", a ,  b) ` +
		`; if plantedLeft == plantedFault(10) { return plantedLeft }; return  ((!ok) != plantedFault(12)) }()) {`
	if lines[3] != want {
		t.Errorf("got  %s\nwant %s", lines[3], want)
	}
	if want := "\t\tif !plantedFault(7) { return err }"; lines[4] != want {
		t.Errorf("got  %s\nwant %s", lines[4], want)
	}
}

func TestTheChangedLinesOfADiffAreKept(t *testing.T) {
	changed, err := linesOf(`--- a/go/example.go
+++ b/go/example.go
@@ -6,0 +7 @@ func
+	t.size = a
@@ -9,2 +10,1 @@ func
--- a/go/gone.go
+++ /dev/null
@@ -1,2 +0,0 @@
`)
	if err != nil {
		t.Fatal(err)
	}
	source := exampleSource(t)
	source.keep(changed.touch)
	var got []string
	for _, fault := range source.faults {
		got = append(got, fault.what)
	}
	want := []string{"t.size = a is left out", "t.tell(a == b) is left out", "a == b becomes !="}
	if !slices.Equal(got, want) {
		t.Errorf("kept %q", got)
	}
}

func TestAnErrorNamesItsLine(t *testing.T) {
	sources := []*source{{path: "go/view.go"}, {path: "go/controller/view.go"}}
	named := linesOfErrors("# git.example.com/liqo-auth/liqo-auth/go/controller\n/tmp/planted/go-controller-view.go:12:3: mismatched types\n", sources)
	if !named.touch(&fault{path: "go/controller/view.go", line: 11, lastLine: 12}) {
		t.Errorf("not named: %v", named)
	}
	if named.touch(&fault{path: "go/view.go", line: 12, lastLine: 12}) {
		t.Errorf("named: %v", named)
	}
}
