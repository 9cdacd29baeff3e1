// Planted-faults plants faults in the Go code of this folder, all of them in one build, and runs
// the tests with each fault until one of them fails.
//
//	cd go/planted-faults && go run . [OPTION...] [NAME...]
//
// With names: the faults whose names contain one of these texts.
//
//	-in-diff BASE      the faults in the lines that differ from the commit BASE
//	-at-most NUMBER    at most NUMBER of these faults, evenly spread
//	-sample NUMBER     NUMBER faults, and whether ./check catches them
//	-jobs NUMBER       faults that are tried at a time (default: 1)
//
// The exit code is 1 if the tests pass in spite of a fault.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// wanted is which faults are wanted, and how they are tried.
type wanted struct {
	base           string
	atMost, sample int
	jobs           int
	names          []string
}

func main() {
	var w wanted
	flag.StringVar(&w.base, "in-diff", "", "the faults in the lines that differ from this commit")
	flag.IntVar(&w.atMost, "at-most", 0, "at most this number of faults, evenly spread")
	flag.IntVar(&w.sample, "sample", 0, "this number of faults, and whether ./check catches them")
	flag.IntVar(&w.jobs, "jobs", 1, "the faults that are tried at a time")
	flag.Parse()
	w.names = flag.Args()
	areCaught, err := run(w)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(2)
	}
	if !areCaught {
		os.Exit(1)
	}
}

// run tells whether the tests catch each wanted fault.
func run(w wanted) (bool, error) {
	root, err := projectRoot()
	if err != nil {
		return false, err
	}
	sources, err := listFaults(root)
	if err != nil {
		return false, err
	}
	if w.base != "" {
		changed, err := changedLines(root, w.base)
		if err != nil {
			return false, err
		}
		for _, source := range sources {
			source.keep(changed.touch)
		}
	}
	if count(sources) == 0 {
		fmt.Println("no fault can be planted there")
		return true, nil
	}
	build, err := plant(root, sources)
	if err != nil {
		return false, err
	}
	defer build.remove()
	faults := chosen(w, sources)
	if w.sample > 0 {
		return true, trySample(build, faults, w.jobs)
	}
	return tryAll(build, faults, w.jobs)
}

// chosen are the faults to try, of those that are planted.
func chosen(w wanted, sources []*source) []*fault {
	var named []*fault
	for _, source := range sources {
		for _, fault := range source.faults {
			if isNamed(fault, w.names) {
				named = append(named, fault)
			}
		}
	}
	number := len(named)
	if w.atMost > 0 {
		number = min(number, w.atMost)
	}
	if w.sample > 0 {
		number = min(number, w.sample)
	}
	spread := make([]*fault, number)
	for place := range spread {
		spread[place] = named[place*len(named)/number]
	}
	return spread
}

func isNamed(fault *fault, names []string) bool {
	for _, name := range names {
		if strings.Contains(fault.String(), name) {
			return true
		}
	}
	return len(names) == 0
}
