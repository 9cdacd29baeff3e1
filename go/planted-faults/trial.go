package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the tests of a folder.
type suite struct {
	program string
	folder  string
	// arguments are those of the program.
	arguments []string
	// parts are the tests, those that take the least time first.
	parts []part
}

// part is some of the tests, which reach some faults.
type part struct {
	names   []string
	takes   time.Duration
	reaches map[int]bool
}

// sizeOfPart is the number of tests that run in one process. Each process compiles the module
// first, so that a process for each test would take too long.
const sizeOfPart = 8

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
	}
	if printed := p.goes(folder, "test", "-c", "-o", tests.program); printed != "" {
		return nil, fmt.Errorf("the tests of %s do not compile:\n%s", folder, printed)
	}
	names, err := tests.names()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	for names := range slices.Chunk(names, sizeOfPart) {
		part, err := tests.observe(names, filepath.Join(p.folder, name+".reached"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		tests.parts = append(tests.parts, part)
	}
	slices.SortFunc(tests.parts, func(a, b part) int { return cmp.Compare(a.takes, b.takes) })
	fmt.Printf("%d tests of %s in %d s\n", len(names), folder, int(time.Since(started).Seconds()))
	return tests, nil
}

// names are those of all tests, examples and seeds of fuzzers.
func (s *suite) names() ([]string, error) {
	listing := exec.Command(s.program, "-test.list", ".")
	listing.Dir = s.folder
	printed, err := listing.Output()
	if err != nil {
		return nil, err
	}
	isBenchmark := func(name string) bool { return strings.HasPrefix(name, "Benchmark") }
	return slices.DeleteFunc(strings.Fields(string(printed)), isBenchmark), nil
}

// observe runs a part without a fault, and notes what it reaches.
func (s *suite) observe(names []string, reached string) (part, error) {
	observed := part{names: names, reaches: map[int]bool{}}
	if err := os.WriteFile(reached, nil, 0o600); err != nil {
		return observed, err
	}
	started := time.Now()
	failed, err := s.run(observed, 0, longest, "REACHED_FAULTS="+reached)
	if err == nil && failed != "" {
		err = fmt.Errorf("%s fails without a fault", failed)
	}
	if err != nil {
		return observed, err
	}
	observed.takes = time.Since(started)
	numbers, err := os.ReadFile(reached)
	if err != nil {
		return observed, err
	}
	for line := range strings.FieldsSeq(string(numbers)) {
		number, err := strconv.Atoi(line)
		if err != nil {
			return observed, err
		}
		observed.reaches[number] = true
	}
	return observed, nil
}

// reach tells whether a test reaches a fault.
func (s *suite) reach(fault *fault) bool {
	return slices.ContainsFunc(s.parts, func(part part) bool { return part.reaches[fault.number] })
}

// try runs the tests that reach a fault, and returns the one that fails.
func (s *suite) try(fault *fault) (string, error) {
	for _, part := range s.parts {
		if !part.reaches[fault.number] {
			continue
		}
		if failed, err := s.run(part, fault.number, time.Minute+10*part.takes); failed != "" || err != nil {
			return failed, err
		}
	}
	return "", nil
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs a part of the tests, and returns the first one that fails. Tests that do not end fail,
// as those of Go do.
func (s *suite) run(part part, fault int, atMost time.Duration, environment ...string) (string, error) {
	// The program ends itself before.
	ctx, cancel := context.WithTimeout(context.Background(), atMost+time.Minute)
	defer cancel()
	arguments := append([]string{
		"-test.failfast", "-test.timeout", atMost.String(),
		"-test.run", "^(" + strings.Join(part.names, "|") + ")$",
	}, s.arguments...)
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
