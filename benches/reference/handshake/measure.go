//go:build !liqo_1_0_0

package main

import (
	"math"
	"slices"
	"time"
)

const (
	// rounds is how often each stage has its turn.
	rounds = 5
	// batch is how long the clock is left alone, so that reading it costs
	// nothing that counts.
	batch = 500 * time.Microsecond
)

// stage is one operation that is measured.
type stage struct {
	name string
	run  func() error
}

// measure gives the nanoseconds of one operation of each stage: of each round
// the median over its batches, and of the rounds the best. Rounds go over all
// stages in turn, so that a slow spell of the machine does not hit one alone.
func measure(stages []stage, seconds float64) ([]int64, error) {
	best := slices.Repeat([]int64{math.MaxInt64}, len(stages))
	for range rounds {
		for i, stage := range stages {
			median, err := round(stage, time.Duration(seconds*float64(time.Second)))
			if err != nil {
				return nil, err
			}
			best[i] = min(best[i], median)
		}
	}
	return best, nil
}

func round(stage stage, length time.Duration) (int64, error) {
	size, err := batchSize(stage)
	if err != nil {
		return 0, err
	}
	var perOperation []int64
	for start := time.Now(); time.Since(start) < length; {
		took, err := repeat(stage, size)
		if err != nil {
			return 0, err
		}
		perOperation = append(perOperation, took.Nanoseconds()/int64(size))
	}
	slices.Sort(perOperation)
	return perOperation[len(perOperation)/2], nil
}

// batchSize doubles until a batch is long enough, which also warms up.
func batchSize(stage stage) (int, error) {
	for size := 1; ; size *= 2 {
		took, err := repeat(stage, size)
		if err != nil || took >= batch {
			return size, err
		}
	}
}

func repeat(stage stage, times int) (time.Duration, error) {
	start := time.Now()
	for range times {
		if err := stage.run(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}
