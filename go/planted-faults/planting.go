package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// chosenFile is the file of each package in which the planted calls end.
//
//go:embed chosen.go.txt
var chosenFile string

// planted is the project with faults. Its own files stay as they are: Go reads others in their
// place (go help build, -overlay).
type planted struct {
	root string
	// folder has the other files, and what is built from them.
	folder  string
	overlay string
	// suites are the tests that are built, by their folders.
	suites map[string]*suite
}

// plant plants all faults of the sources. Faults that do not compile are deleted from them.
func plant(root string, sources []*source) (*planted, error) {
	folder, err := os.MkdirTemp("", "planted-faults-")
	if err != nil {
		return nil, err
	}
	p := &planted{root: root, folder: folder, overlay: filepath.Join(folder, "overlay.json"), suites: map[string]*suite{}}
	if err := p.write(sources); err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *planted) remove() { _ = os.RemoveAll(p.folder) }

func (p *planted) write(sources []*source) error {
	listed := count(sources)
	for {
		if err := p.writeOverlay(sources); err != nil {
			return err
		}
		printed := p.compile()
		if printed == "" {
			fmt.Printf("%d faults, of which %d do not compile\n", listed, listed-count(sources))
			return nil
		}
		before := count(sources)
		culprits := linesOfErrors(printed, sources)
		for _, source := range sources {
			source.keep(func(fault *fault) bool { return !culprits.touch(fault) })
		}
		if count(sources) == before {
			return fmt.Errorf("the code with faults does not compile:\n%s", printed)
		}
	}
}

func (p *planted) writeOverlay(sources []*source) error {
	replace := map[string]string{}
	for _, source := range sources {
		text := withEdits(source)
		chosen := strings.Replace(chosenFile, "PACKAGE", source.packageName, 1)
		folder := filepath.Dir(source.path)
		for path, text := range map[string]string{
			source.path: text,
			filepath.Join(folder, "planted_fault.go"): chosen,
		} {
			written := filepath.Join(p.folder, nameOfOther(path))
			if err := os.WriteFile(written, []byte(text), 0o600); err != nil {
				return err
			}
			replace[filepath.Join(p.root, path)] = written
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(p.overlay, overlay, 0o600)
}

// nameOfOther is the name of the file that Go reads in the place of another one.
func nameOfOther(path string) string { return strings.ReplaceAll(path, "/", "-") }

// withEdits is the text of a file with its faults.
func withEdits(source *source) string {
	var edits []edit
	for _, fault := range source.faults {
		edits = append(edits, fault.edits...)
	}
	slices.SortFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.rank, b.rank))
	})
	var text strings.Builder
	written := 0
	for _, edit := range edits {
		text.Write(source.text[written:edit.start])
		text.WriteString(edit.text)
		written = edit.end
	}
	text.Write(source.text[written:])
	return text.String()
}

// compile compiles all packages, and returns the errors.
func (p *planted) compile() string {
	for _, folder := range sourceFolders {
		if printed := p.goes(folder, "build", "-gcflags=-e", "-o", os.DevNull); printed != "" {
			return printed
		}
	}
	return ""
}

// goes runs a command of Go on the package of a folder, and returns what it prints if it fails.
func (p *planted) goes(folder, command string, options ...string) string {
	arguments := slices.Concat([]string{command, "-overlay", p.overlay}, options, []string{"."})
	building := exec.Command("go", arguments...)
	building.Dir = filepath.Join(p.root, folder)
	building.Env = append(os.Environ(), "CGO_ENABLED=0")
	if printed, err := building.CombinedOutput(); err != nil {
		return fmt.Sprintf("%s%v", printed, err)
	}
	return ""
}

var errorPlace = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// linesOfErrors are the lines that errors name. Go names the files that it has read.
func linesOfErrors(printed string, sources []*source) lines {
	named := lines{}
	for _, source := range sources {
		named[source.path] = map[int]bool{}
		for _, place := range errorPlace.FindAllStringSubmatch(printed, -1) {
			number, err := strconv.Atoi(place[2])
			if err == nil && filepath.Base(place[1]) == nameOfOther(source.path) {
				named[source.path][number] = true
			}
		}
	}
	return named
}
