package buffer

import (
	"errors"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// waiter is a trainer that nobody waits for.
type waiter struct{}

func (waiter) SetIdle(bool) {}

// Samples that are too old for a step are passed over and counted as read, so that a restart does not see them again.
func TestStaleSamplesArePassedOver(t *testing.T) {
	q := NewHandover(NewQueue(9, 0), waiter{}, nil, Position{Step: 1})
	s := &Samples{From: q, Strategy: algorithm.SampleStrategy{MaxStaleness: 1}}
	for step, versions := range [][]int{{0, 0}, {0, 3}, {3, 4}} {
		var list []*experience.Experience
		for _, v := range versions {
			list = append(list, &experience.Experience{Info: experience.Info{ModelVersion: v, TaskIndex: 10*step + v}})
		}
		if err := q.Put(t.Context(), step+1, list); err != nil {
			t.Fatal(err)
		}
	}
	read := func(step, n int, want []int, pos Position) {
		t.Helper()
		list, err := s.Read(t.Context(), step, n)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, e := range list {
			got = append(got, e.Info.TaskIndex)
		}
		if !slices.Equal(got, want) || s.Position() != pos {
			t.Errorf("step %d: tasks %v at %+v, want %v at %+v", step, got, s.Position(), want, pos)
		}
	}
	read(2, 1, []int{0}, Position{Step: 1, Count: 1})
	read(5, 2, []int{13, 23}, Position{Step: 3, Count: 1})
	q.queue.Close()
	if _, err := s.Read(t.Context(), 9, 1); !errors.Is(err, dataset.ErrEnd) {
		t.Errorf("what is left is too old: %v, want the end", err)
	}
}
