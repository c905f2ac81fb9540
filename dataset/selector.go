package dataset

import (
	"fmt"
	"math/rand/v2"
)

// selector chooses rows. What it picks depends only on the position, so that resuming needs no more than that.
type selector interface {
	// pick returns the rows at positions start … start+n−1 of the endless reading.
	pick(start, n int) []int
}

func newSelector(name string, size int, plan Plan) (selector, error) {
	switch name {
	case "", "sequential":
		return sequential{size}, nil
	case "shuffle":
		return &shuffle{size: size, seed: plan.Seed, epoch: -1}, nil
	case "random":
		if plan.BatchSize > size {
			return nil, fmt.Errorf("dataset: selector random draws without replacement, and a batch of %d is more than the %d rows; lower batch_size or use selector shuffle", plan.BatchSize, size)
		}
		return random{size, plan.Seed}, nil
	}
	return nil, fmt.Errorf("dataset: unknown selector %q; use sequential, shuffle or random", name)
}

// sequential goes through the rows in file order and wraps around.
type sequential struct{ size int }

func (s sequential) pick(start, n int) []int {
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

func (s *shuffle) pick(start, n int) []int {
	out := make([]int, n)
	for i := range out {
		at := start + i
		if epoch := at / s.size; epoch != s.epoch {
			s.epoch, s.order = epoch, stream(s.seed, epoch).Perm(s.size)
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

// pick is the front of a Fisher-Yates shuffle that stores only the places it has moved.
func (s random) pick(start, n int) []int {
	r := stream(s.seed, start)
	moved := map[int]int{}
	at := func(i int) int {
		if v, ok := moved[i]; ok {
			return v
		}
		return i
	}
	out := make([]int, n)
	for i := range out {
		j := i + r.IntN(s.size-i)
		out[i] = at(j)
		moved[j] = at(i)
	}
	return out
}

// stream is the random stream of one epoch or batch.
func stream(seed int64, n int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(n)))
}
