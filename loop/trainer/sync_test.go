package trainer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// slow takes its time to hear of weights.
type slow struct {
	Events
	takes time.Duration
}

func (s slow) Published(context.Context, int, string) error {
	time.Sleep(s.takes)
	return nil
}

// As upstream reports them: how long publishing took, and, from the second time on, how long it was from the end of one
// to the begin of the next.
func TestTimesOfSynchronizing(t *testing.T) { synctest.Test(t, timesOfSynchronizing) }

func timesOfSynchronizing(t *testing.T) {
	const takes, between = 20 * time.Second, 50 * time.Second
	tr := New(Options{JobDir: t.TempDir(), FS: disk.OS(), Method: grpo(t)}, nil, nil, slow{takes: takes}, State{})
	first, second := map[string]float64{}, map[string]float64{}
	for step, m := range []map[string]float64{first, second} {
		saved := tinker.Resolved(tinker.SaveOutput{Path: "p"}, nil)
		if err := tr.synchronize(t.Context(), 1+step, saved, m); err != nil {
			t.Fatal(err)
		}
		time.Sleep(between)
	}
	if _, ok := first["time/trainer_sync_interval"]; ok || first["time/sync_weight"] != takes.Seconds() {
		t.Errorf("the first time reports %v", first)
	}
	if v := second["time/trainer_sync_interval"]; v != between.Seconds() ||
		second["time/sync_weight"] != takes.Seconds() {
		t.Errorf("the second time reports %v, want an interval of %v", second, between)
	}
}

// The end of the source is the end of the run, unless it was stopped: that may have ended the source too.
func TestEndOrInterruption(t *testing.T) {
	tr := New(Options{Method: grpo(t)}, nil, nil, nil, State{})
	stop, end := context.WithCancel(t.Context())
	if err := tr.end(t.Context(), stop); err != nil {
		t.Error(err)
	}
	end()
	if err := tr.end(t.Context(), stop); !errors.Is(err, ErrInterrupted) {
		t.Errorf("stopped: %v", err)
	}
}

// silent is a source that waits for the end of its context and says no more than that it ended, as databases do.
type silent struct{ Source }

func (silent) Read(ctx context.Context, _, _ int) ([]*experience.Experience, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A stop ends the wait for a batch as an interruption, whatever the source makes of it; the end of the run does not.
func TestReadOrInterruption(t *testing.T) {
	stop, end := context.WithCancel(t.Context())
	tr := New(Options{Method: grpo(t)}, nil, silent{}, nil, State{})
	end()
	if _, err := tr.read(t.Context(), stop); !errors.Is(err, ErrInterrupted) {
		t.Errorf("stopped: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.read(ctx, t.Context()); !errors.Is(err, context.Canceled) || errors.Is(err, ErrInterrupted) {
		t.Errorf("the run ended: %v", err)
	}
}

// The newest weights are those that were published and not deleted since.
func TestNewestPublished(t *testing.T) {
	tr := New(Options{JobDir: t.TempDir(), FS: disk.OS(), Method: grpo(t)}, nil, nil, nil, State{Step: 5})
	for _, step := range []int{2, 3, 7} {
		if err := tr.Notes.Note(Sampler, step, fmt.Sprint("of ", step)); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := tr.newest(); path != "of 3" || err != nil {
		t.Errorf("%q, %v; want those of step 3: 7 is to be trained again", path, err)
	}
	tr.state.Step = 1
	if path, err := tr.newest(); path != "" || err != nil {
		t.Errorf("before any: %q, %v", path, err)
	}
}
