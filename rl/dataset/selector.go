package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// Selector chooses rows with the draws of Trinity-RFT's selector of the same name, which are NumPy's and torch's.
type Selector interface {
	// Pick returns the rows at positions start … start+n−1 of the endless reading. But for what an adaptive selector
	// has learned they depend on nothing else, so that resuming needs no more than the position.
	Pick(start, n int) []int
}

// Selectors is the table of selectors by name.
func Selectors() map[string]OpenSelector {
	return map[string]OpenSelector{
		"sequential": func(size int, _ Plan) (Selector, error) { return sequential{size}, nil },
		"shuffle": func(size int, plan Plan) (Selector, error) {
			return &shuffle{size: size, seed: plan.Seed, epoch: -1}, nil
		},
		"random": func(size int, plan Plan) (Selector, error) {
			return random{size, plan.Seed}, distinct("random", size, plan, " or use selector shuffle")
		},
		"offline_easy2hard": func(size int, plan Plan) (Selector, error) {
			if err := featured("offline_easy2hard", plan, size, 1, 1<<10); err != nil {
				return nil, err
			}
			return newEasyToHard(plan.Features), nil
		},
		"difficulty_based": func(size int, plan Plan) (Selector, error) {
			if err := featured("difficulty_based", plan, size, 2, 2); err != nil {
				return nil, err
			}
			if err := distinct("difficulty_based", size, plan, ""); err != nil {
				return nil, err
			}
			return newDifficulty(plan)
		},
	}
}

func newSelector(name string, size int, plan Plan) (Selector, error) {
	table := Selectors()
	maps.Copy(table, plan.Own)
	open, ok := table[cmp.Or(name, "sequential")]
	if !ok {
		return nil, fmt.Errorf("dataset: unknown selector %q; there are %s", name,
			strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	return open(size, plan)
}

// distinct checks that a batch can be drawn without replacement.
func distinct(name string, size int, plan Plan, or string) error {
	if plan.BatchSize > size {
		return fmt.Errorf("dataset: selector %s draws without replacement, and a batch of %d is more than the %d "+
			"rows; lower batch_size%s", name, plan.BatchSize, size, or)
	}
	return nil
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

// shuffle goes through a new permutation of the rows in each epoch.
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
