package run

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Samples that are too old for a step are passed over and counted as read, so that a restart does not see them again.
func TestStaleSamplesArePassedOver(t *testing.T) {
	q := newQueueFeed(buffer.NewQueue(9, 0), synchronizer.New(synchronizer.Schedule{Interval: 1}, 0), nil, trainer.Position{Step: 1})
	s := &samples{feed: q, strategy: algorithm.SampleStrategy{MaxStaleness: 2}}
	for step, versions := range [][]int{{0, 0}, {0, 3}, {3, 4}} {
		var list []*experience.Experience
		for _, v := range versions {
			list = append(list, &experience.Experience{Info: experience.Info{ModelVersion: v, TaskIndex: 10*step + v}})
		}
		if err := q.put(t.Context(), step+1, list); err != nil {
			t.Fatal(err)
		}
	}
	read := func(step, n int, want []int, pos trainer.Position) {
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
	read(2, 1, []int{0}, trainer.Position{Step: 1, Count: 1})
	read(5, 2, []int{13, 23}, trainer.Position{Step: 3, Count: 1})
	q.queue.Close()
	if _, err := s.Read(t.Context(), 9, 1); !errors.Is(err, io.EOF) {
		t.Errorf("what is left is too old: %v, want the end", err)
	}
}
