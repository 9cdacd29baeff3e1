package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// projectRoot is the folder of the project: two above the one of this program, in which it runs.
func projectRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root := filepath.Join(here, "..", "..")
	if _, err := os.Stat(filepath.Join(root, "go", "planted-faults", "main.go")); err != nil {
		return "", fmt.Errorf("run it in the folder go/planted-faults: %w", err)
	}
	return root, nil
}

// lines are the changed lines of each file.
type lines map[string]map[int]bool

// hunk is the head of changed lines: the first one, and their number unless it is 1.
var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changedLines are those that differ from a commit.
func changedLines(root, base string) (lines, error) {
	diff := exec.Command("git", "diff", "--unified=0", "--no-color", base, "--", "go")
	diff.Dir = root
	printed, err := diff.Output()
	if err != nil {
		return nil, fmt.Errorf("git does not know the commit %s: %w", base, err)
	}
	return linesOf(string(printed))
}

// linesOf reads the output of git diff.
func linesOf(diff string) (lines, error) {
	changed := lines{}
	path := ""
	for line := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			path = strings.TrimSpace(name)
			changed[path] = map[int]bool{}
		}
		head := hunk.FindStringSubmatch(line)
		if head == nil || changed[path] == nil {
			continue
		}
		first, err := strconv.Atoi(head[1])
		if err != nil {
			return nil, err
		}
		number := 1
		if head[2] != "" {
			if number, err = strconv.Atoi(head[2]); err != nil {
				return nil, err
			}
		}
		for line := range number {
			changed[path][first+line] = true
		}
	}
	return changed, nil
}

func (l lines) touch(fault *fault) bool {
	for line := fault.line; line <= fault.lastLine; line++ {
		if l[fault.path][line] {
			return true
		}
	}
	return false
}
