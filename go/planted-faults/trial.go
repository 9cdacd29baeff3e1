package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// suite is the tests of a folder, which reach some faults.
type suite struct {
	program string
	folder  string
	// arguments are those of the program.
	arguments []string
	takes     time.Duration
	reaches   map[int]bool
}

// testFolders are those with tests.
var testFolders = []string{"go", "go/controller", "go/compare"}

// mayReach tells whether the tests of a folder have the code of a fault. The package in go is
// part of all others.
func mayReach(folder string, fault *fault) bool {
	from := filepath.Dir(fault.path)
	return from == "go" || from == folder
}

// Such a part of Liqo's comparison is enough to find a fault.
var argumentsOfTests = map[string][]string{"go/compare": {"-mutants", "2000"}}

// longest is the time after which the tests without a fault are taken for endless.
const longest = 10 * time.Minute

// suite is the tests of a folder, which are built when they are first needed.
func (p *planted) suite(folder string) (*suite, error) {
	if known := p.suites[folder]; known != nil {
		return known, nil
	}
	built, err := p.build(folder)
	if err == nil {
		p.suites[folder] = built
	}
	return built, err
}

// build builds the tests of a folder, and runs them without a fault.
func (p *planted) build(folder string) (*suite, error) {
	name := strings.ReplaceAll(folder, "/", "-")
	tests := &suite{
		program:   filepath.Join(p.folder, name+".test"),
		folder:    filepath.Join(p.root, folder),
		arguments: argumentsOfTests[folder],
		reaches:   map[int]bool{},
	}
	if printed := p.goes(folder, "test", "-c", "-o", tests.program); printed != "" {
		return nil, fmt.Errorf("the tests of %s do not compile:\n%s", folder, printed)
	}
	reached := filepath.Join(p.folder, name+".reached")
	if err := os.WriteFile(reached, nil, 0o600); err != nil {
		return nil, err
	}
	started := time.Now()
	failed, err := tests.run(0, longest, "REACHED_FAULTS="+reached)
	if err == nil && failed != "" {
		err = fmt.Errorf("%s of %s fails without a fault", failed, folder)
	}
	if err != nil {
		return nil, err
	}
	tests.takes = time.Since(started)
	fmt.Printf("the tests of %s in %d s\n", folder, int(tests.takes.Seconds()))
	numbers, err := os.ReadFile(reached)
	if err != nil {
		return nil, err
	}
	for line := range strings.FieldsSeq(string(numbers)) {
		number, err := strconv.Atoi(line)
		if err != nil {
			return nil, err
		}
		tests.reaches[number] = true
	}
	return tests, nil
}

// try runs the tests with a fault, and returns the one that fails.
func (s *suite) try(fault *fault) (string, error) {
	return s.run(fault.number, time.Minute+10*s.takes)
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs the tests, and returns the first one that fails. Tests that do not end fail, as those
// of Go do.
func (s *suite) run(fault int, atMost time.Duration, environment ...string) (string, error) {
	// The program ends itself before.
	ctx, cancel := context.WithTimeout(context.Background(), atMost+time.Minute)
	defer cancel()
	arguments := append([]string{"-test.failfast", "-test.timeout", atMost.String()}, s.arguments...)
	tests := exec.CommandContext(ctx, s.program, arguments...)
	tests.Dir = s.folder
	tests.Env = append(os.Environ(), fmt.Sprintf("PLANTED_FAULT=%d", fault))
	tests.Env = append(tests.Env, environment...)
	printed, err := tests.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	case strings.Contains(string(printed), "panic: test timed out"):
		return "the time limit", nil
	}
	if name := failure.FindSubmatch(printed); name != nil {
		return string(name[1]), nil
	}
	return "a panic", nil
}
