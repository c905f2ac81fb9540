package record

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// kept is an exchange that keeps steps for good, or none.
type kept struct {
	buffer.Exchange
	step int
	kept bool
}

func (k kept) Explored() (int, bool) { return k.step, k.kept }

// feeding is the rule of a style fully_async whose log is at path, for a trainer that continues after a state.
func feeding(t *testing.T, path string, s synchronizer.Schedule, to kept, after trainer.State, batch int,
	oldest func(int) int) (*Feed, *synchronizer.Synchronizer) {
	t.Helper()
	o, err := synchronizer.OpenOrder(disk.OS(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	f, err := NewFeed(o, to, after, batch, oldest)
	if err != nil {
		t.Fatal(err)
	}
	s.Interval = 1
	return f, synchronizer.NewStyle(synchronizer.FullyAsync, s, time.Minute, o)
}

func samples(n, version int) []*experience.Experience {
	list := make([]*experience.Experience, n)
	for i := range list {
		list[i] = &experience.Experience{Info: experience.Info{ModelVersion: version}}
	}
	return list
}

func always(int) int { return 0 }

// The versions that explore steps sample with, one after another, when each is handed over before the step that needs
// it begins. The vectors are computed by hand from the rule: I·⌊τ(e−1−M)/I⌋.
func TestFeedVersions(t *testing.T) {
	const batch = 4
	for _, tt := range []struct {
		window, interval, each int
		want                   []int
	}{
		{1, 1, batch, []int{0, 0, 1, 2, 3, 4}},
		{2, 1, batch, []int{0, 0, 0, 1, 2, 3}},
		{2, 2, batch, []int{0, 0, 0, 0, 2, 2, 4, 4}},
		{3, 2, batch, []int{0, 0, 0, 0, 0, 2, 2, 4}},
		{2, 1, batch / 2, []int{0, 0, 0, 0, 1, 1, 2, 2}}, // a filter
		{2, 2, batch / 2, []int{0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 4}},
		{2, 1, 2 * batch, []int{0, 0, 0, 2, 4, 6}},
		{2, 1, 0, []int{0, 0, 0, 0, 0}}, // nothing to learn from
	} {
		s := synchronizer.Schedule{Publish: tt.interval, Offset: tt.window, Window: tt.window}
		f, sync := feeding(t, filepath.Join(t.TempDir(), "order.jsonl"), s, kept{}, trainer.State{}, batch, always)
		var got []int
		for step := range tt.want {
			v, known := sync.Ruled(step + 1)
			if !known {
				t.Fatalf("step %d does not know its version", step+1)
			}
			got = append(got, v)
			if _, early := sync.Ruled(step + tt.window + 2); early {
				t.Errorf("step %d knows its version before step %d is handed over", step+tt.window+2, step+1)
			}
			if err := f.put(step+1, samples(tt.each, v)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: versions %v", tt, got)
		}
	}
}

// What a trainer passes over as too old feeds no train step: a version that needs it would never come.
func TestFeedOfStaleSamples(t *testing.T) {
	s := synchronizer.Schedule{Publish: 1, Offset: 2, Window: 2}
	f, sync := feeding(t, filepath.Join(t.TempDir(), "order.jsonl"), s, kept{}, trainer.State{}, 2,
		func(step int) int { return step - 2 })
	var got []int
	for step := 1; step <= 6; step++ { // steps 1 and 2 are trained, 3 is too old for train step 3, and so on
		v, _ := sync.Ruled(step)
		got = append(got, v)
		if err := f.put(step, samples(2, v)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{0, 0, 0, 1, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
}

// Continued after any step, with the log as it was then, the versions are the same. Where the trainer's place says
// something else than the log, it counts.
func TestFeedContinues(t *testing.T) {
	const batch, each, steps = 4, 3, 9
	s := synchronizer.Schedule{Publish: 1, Offset: 2, Window: 2}
	whole, sync := feeding(t, filepath.Join(t.TempDir(), "order.jsonl"), s, kept{}, trainer.State{}, batch, always)
	want := []int{}
	for step := 1; step <= steps; step++ {
		v, _ := sync.Ruled(step)
		want = append(want, v)
		whole.put(step, samples(each, v))
	}
	for _, table := range []bool{false, true} {
		for at := range steps {
			path := filepath.Join(t.TempDir(), "order.jsonl")
			f, _ := feeding(t, path, s, kept{}, trainer.State{}, batch, always)
			for step := 1; step <= at; step++ {
				f.put(step, samples(each, 0))
			}
			trained := max(0, at-1) * each / batch // a step is left in the queue
			after := trainer.State{Step: trained,
				Position: buffer.Position{Step: trained*batch/each + 1, Count: trained * batch % each}}
			to, first := kept{}, after.Position.Step
			if table {
				to, first = kept{step: max(0, at-1), kept: true}, max(1, at)
			}
			f, sync := feeding(t, path, s, to, after, batch, always)
			for step := first; step <= steps; step++ {
				if v, known := sync.Ruled(step); v != want[step-1] || !known {
					t.Errorf("table %v, stopped after %d: step %d has version %d (%v), want %d", table, at, step, v,
						known, want[step-1])
				}
				f.put(step, samples(each, 0))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "order.jsonl") // of a job that was begun in another style, at step 5
	f, sync := feeding(t, path, s, kept{}, trainer.State{Step: 4, Position: buffer.Position{Step: 5}}, batch, always)
	f.put(5, samples(batch, 0))
	f.put(6, samples(batch, 0))
	got := []int{}
	for step := 5; step <= 9; step++ {
		v, _ := sync.Ruled(step)
		got = append(got, v)
	}
	if want := []int{4, 4, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("begun in another style: versions %v, want %v", got, want)
	}
	if _, _, err := sync.Next(context.Background(), 10); err == nil {
		t.Error("step 10 begins although step 7 is not handed over")
	}
}
