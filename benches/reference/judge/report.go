package main

import (
	"fmt"
	"io"
	"strings"
)

// report counts the checks and prints one line for each.
type report struct {
	out            io.Writer
	passed, failed int
}

// check runs one check, and says whether it passed. Liqo's functions panic on
// some inputs, as would Liqo: that is a failure of the check, not of the judge.
func (r *report) check(what string, judgement func() error) bool {
	err := recovered(judgement)
	if err == nil {
		r.passed++
		fmt.Fprintf(r.out, "ok %s\n", what)
		return true
	}
	r.failed++
	fmt.Fprintf(r.out, "FAILED %s: %s\n", what, oneLine(err.Error()))
	return false
}

func (r *report) close() {
	fmt.Fprintf(r.out, "%d passed, %d failed\n", r.passed, r.failed)
}

func recovered(judgement func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return judgement()
}

func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// equal compares what was found with what is right.
func equal[T ~string](found, right T) error {
	if found != right {
		return fmt.Errorf("found %q, not %q", found, right)
	}
	return nil
}

// same is equal for values that may be left out, and must be if that is right.
func same[T comparable](found, right *T) error {
	switch {
	case found == nil && right == nil:
		return nil
	case found == nil:
		return fmt.Errorf("found none, not %v", *right)
	case right == nil:
		return fmt.Errorf("found %v, not none", *found)
	case *found != *right:
		return fmt.Errorf("found %v, not %v", *found, *right)
	}
	return nil
}

// equalOrAbsent is equal for a field that may be left out.
func equalOrAbsent[T ~string](found, right T) error {
	if found == "" {
		return nil
	}
	return equal(found, right)
}

// all is the first error, so that one line holds several comparisons.
func all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
