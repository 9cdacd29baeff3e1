package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// outcome is what came of a fault.
type outcome struct {
	// by is the test that caught it, if one did.
	by        string
	isReached bool
}

// tryAll tries each fault, prints what was missed, and tells whether all were caught.
func tryAll(p *planted, faults []*fault, jobs int) (bool, error) {
	outcomes, err := p.outcomes(faults, jobs, func(*fault, string) bool { return true })
	if err != nil {
		return false, err
	}
	var missed, notReached int
	for place, outcome := range outcomes {
		switch {
		case outcome.by != "":
			fmt.Printf("caught by %s: %s\n", outcome.by, faults[place])
		case outcome.isReached:
			missed++
			fmt.Printf("missed: %s\n", faults[place])
		default:
			notReached++
			fmt.Printf("not reached: %s\n", faults[place])
		}
	}
	caught := len(faults) - missed - notReached
	fmt.Printf("%d of %d caught; %d missed, %d not reached\n", caught, len(faults), missed, notReached)
	return caught == len(faults), nil
}

// trySample tells how many of the faults that the tests catch are caught by those that ./check
// runs.
func trySample(p *planted, faults []*fault, jobs int) error {
	selected := map[string][]string{}
	for _, fault := range faults {
		selecting := exec.Command(filepath.Join(p.root, ".ci", "selected-tests"))
		selecting.Stdin = strings.NewReader(fault.path + "\n")
		printed, err := selecting.Output()
		if err != nil {
			return err
		}
		selected[fault.path] = strings.Fields(string(printed))
	}
	isSelected := func(fault *fault, folder string) bool {
		return slices.Contains(selected[fault.path], folder)
	}
	bySelected, err := p.outcomes(faults, jobs, isSelected)
	if err != nil {
		return err
	}
	byOthers, err := p.outcomes(faults, jobs, func(fault *fault, folder string) bool {
		return bySelected[slices.Index(faults, fault)].by == "" && !isSelected(fault, folder)
	})
	if err != nil {
		return err
	}
	var caught, caughtByCheck int
	for place, fault := range faults {
		by, other := bySelected[place].by, byOthers[place].by
		switch {
		case by != "":
			caughtByCheck++
			caught++
			fmt.Printf("caught by %s, which ./check runs: %s\n", by, fault)
		case other != "":
			caught++
			fmt.Printf("caught by %s, which ./check does not run: %s\n", other, fault)
		case bySelected[place].isReached || byOthers[place].isReached:
			fmt.Printf("missed: %s\n", fault)
		default:
			fmt.Printf("not reached: %s\n", fault)
		}
	}
	fmt.Printf("sample: %d of %d faults that the tests catch are caught by what ./check runs; %d were planted\n",
		caughtByCheck, caught, len(faults))
	return nil
}

// outcomes tries each fault with the tests of one folder after the other, of those that count
// for it, until one of them catches it.
func (p *planted) outcomes(faults []*fault, jobs int, counts func(*fault, string) bool) ([]outcome, error) {
	outcomes := make([]outcome, len(faults))
	for _, folder := range testFolders {
		var open []int
		for place, fault := range faults {
			if outcomes[place].by == "" && mayReach(folder, fault) && counts(fault, folder) {
				open = append(open, place)
			}
		}
		if len(open) == 0 {
			continue
		}
		tests, err := p.suite(folder)
		if err != nil {
			return nil, err
		}
		open = slices.DeleteFunc(open, func(place int) bool { return !tests.reach(faults[place]) })
		err = inParallel(jobs, open, func(place int) error {
			by, err := tests.try(faults[place])
			outcomes[place] = outcome{by: by, isReached: true}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// inParallel works on all items, on at most jobs of them at a time.
func inParallel(jobs int, items []int, work func(int) error) error {
	var group sync.WaitGroup
	places := make(chan struct{}, max(jobs, 1))
	errs := make([]error, len(items))
	for number, item := range items {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			errs[number] = work(item)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
