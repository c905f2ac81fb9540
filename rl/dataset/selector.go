package dataset

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// Selector chooses rows with the draws of Trinity-RFT's selector of the same name, which are NumPy's and torch's.
type Selector interface {
	// Pick returns the rows at positions start … start+n−1 of the endless reading. But for what an adaptive selector
	// has learned they depend on nothing else, so that resuming needs no more than the position.
	Pick(start, n int) []int
}

func newSelector(name string, size int, plan Plan) (Selector, error) {
	if open, ok := plan.Own[name]; ok {
		return open(size, plan)
	}
	switch name {
	case "", "sequential":
		return sequential{size}, nil
	case "shuffle":
		return &shuffle{size: size, seed: plan.Seed, epoch: -1}, nil
	case "random":
		if plan.BatchSize > size {
			return nil, fmt.Errorf("dataset: selector random draws without replacement, and a batch of %d is more "+
				"than the %d rows; lower batch_size or use selector shuffle", plan.BatchSize, size)
		}
		return random{size, plan.Seed}, nil
	case "offline_easy2hard":
		if err := featured(name, plan, size, 1, 1<<10); err != nil {
			return nil, err
		}
		return newEasyToHard(plan.Features), nil
	case "difficulty_based":
		if err := featured(name, plan, size, 2, 2); err != nil {
			return nil, err
		}
		if plan.BatchSize > size {
			return nil, fmt.Errorf("dataset: selector difficulty_based draws without replacement, and a batch of %d "+
				"is more than the %d rows; lower batch_size", plan.BatchSize, size)
		}
		return newDifficulty(plan)
	}
	return nil, fmt.Errorf("dataset: unknown selector %q; use sequential, shuffle, random, offline_easy2hard or "+
		"difficulty_based", name)
}

// HasArguments reports whether a selector of this package reads arguments.
func HasArguments(selector string) bool { return selector == "difficulty_based" }

// featured checks that there are between low and high features of each row.
func featured(name string, plan Plan, size, low, high int) error {
	if len(plan.Features) != size || len(plan.Features[0]) < low || len(plan.Features[0]) > high {
		return fmt.Errorf("dataset: selector %s needs feature_keys: columns of numbers that say how easy a row is",
			name)
	}
	return nil
}

// sequential goes through the rows in file order and wraps around.
type sequential struct{ size int }

func (s sequential) Pick(start, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = (start + i) % s.size
	}
	return out
}

// shuffle goes through a new permutation of the rows in each epoch. (Upstream repeats a permutation until a resume
// draws the next one.)
type shuffle struct {
	size  int
	seed  int64
	epoch int // the epoch order is for, -1 before the first
	order []int
}

func (s *shuffle) Pick(start, n int) []int {
	out := make([]int, n)
	for i := range out {
		at := start + i
		if epoch := at / s.size; epoch != s.epoch {
			s.epoch, s.order = epoch, python.DefaultRNG(uint64(s.seed)+uint64(epoch)).Permutation(s.size)
		}
		out[i] = s.order[at%s.size]
	}
	return out
}

// random draws each batch without replacement from all rows.
type random struct {
	size int
	seed int64
}

func (s random) Pick(start, n int) []int {
	return python.DefaultRNG(uint64(s.seed)+uint64(start)).Choice(s.size, n)
}

// easyToHard goes through the rows by falling features, the higher index first among equals, and wraps around.
type easyToHard struct{ order []int }

func newEasyToHard(features [][]float64) easyToHard {
	e := easyToHard{make([]int, len(features))}
	for i := range e.order {
		e.order[i] = i
	}
	slices.SortFunc(e.order, func(a, b int) int {
		if c := slices.Compare(features[b], features[a]); c != 0 {
			return c
		}
		return b - a
	})
	return e
}

func (s easyToHard) Pick(start, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = s.order[(start+i)%len(s.order)]
	}
	return out
}
