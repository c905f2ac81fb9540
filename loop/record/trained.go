package record

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Trained writes down what the trainer does and lets go of what is not needed any more. It implements trainer.Events.
type Trained struct {
	Monitor  *monitor.Monitor
	Progress *console.Progress
	Weights  synchronizer.Weights
	Keep     *int                   // how many saved states are kept; nil: all
	Versions *synchronizer.Versions // what is published
	Sampled  *Sampled               // nil: the steps are of a data set, and nobody samples
	Report   *synchronizer.Report   // nil: no other process wants to know
	Final    *Evaluation            // nil: the last step is not evaluated
	Durable  bool                   // the service keeps models through a restart of this process

	step atomic.Int64 // committed
}

// Evaluation is of the weights of a run's last step.
type Evaluation struct {
	Step     int
	Explorer *explorer.Explorer
	Sync     *synchronizer.Synchronizer
}

// Sampled is where the samples of the train steps come from.
type Sampled struct {
	Table *buffer.Table  // nil: there is none
	Kept  *explorer.Kept // what the explorer of this process keeps; nil: there is none
	// Pending is the explorer's metrics whose lines are not written yet; nil: none are kept.
	Pending *Pending
	Asking  Asking
}

// Begin says which step is committed when the run begins.
func (r *Trained) Begin(step int) { r.step.Store(int64(step)) }

// Line implements Lines for programs that sample for themselves: what they commit is of any size, so it goes with
// the next step.
func (r *Trained) Line(int, []*experience.Experience) int { return int(r.step.Load()) + 1 }

// Published implements trainer.Events.
func (r *Trained) Published(ctx context.Context, step int, path string) error {
	return r.Versions.Published(ctx, step, path)
}

// Stepped implements trainer.Events. The last step is evaluated before its line is written.
func (r *Trained) Stepped(ctx context.Context, step int, metrics map[string]float64, _ int) error {
	r.Monitor.Add(step, "trainer", metrics)
	if r.Final != nil && r.Final.Step == step {
		r.Progress.Phase("evaluating the trained model")
		found, err := r.Final.run(ctx)
		if err != nil {
			return err
		}
		r.Monitor.Add(step, "explorer", found)
	}
	line, err := r.Monitor.Commit(step)
	if err != nil {
		return err
	}
	r.Progress.Step(step, line)
	return nil
}

// Ended evaluates what a run ends with that trained fewer steps than planned, in a line of its own.
func (r *Trained) Ended(ctx context.Context, step int) error {
	if r.Final == nil || step == 0 || r.Final.Step > 0 && step >= r.Final.Step {
		return nil
	}
	r.Progress.Phase("evaluating the trained model")
	last := *r.Final
	last.Step = step
	found, err := last.run(ctx)
	if err != nil {
		return err
	}
	line, err := r.Monitor.CommitAlone(step+1, "explorer", found)
	if err != nil {
		return err
	}
	r.Progress.Step(step, line)
	return nil
}

func (e *Evaluation) run(ctx context.Context) (map[string]float64, error) {
	path, err := e.Sync.Wait(ctx, e.Step)
	if err != nil {
		return nil, err
	}
	found, err := e.Explorer.Evaluate(ctx, e.Step, path, "eval/")
	if err != nil {
		return nil, fmt.Errorf("evaluation at the end: %w", err)
	}
	return found, nil
}

// Committed implements trainer.Events: what was kept in case the step had to be repeated can go. On a service that
// keeps no models that is all since the last saved state: the groups, and the weights that the next step after it
// samples with.
func (r *Trained) Committed(ctx context.Context, state trainer.State) error {
	r.step.Store(int64(state.Step))
	if r.Report != nil {
		r.Report.Trained(state.Step)
	}
	if err := r.KeepStates(ctx, state.Saved); err != nil {
		return err
	}
	if r.Sampled == nil {
		return nil
	}
	back := state
	if !r.Durable {
		back = state.Back()
	}
	if err := r.Sampled.letGo(ctx, state, back); err != nil {
		return err
	}
	return r.retireOld(ctx, state, back)
}

// KeepStates deletes the oldest saved states if there are too many, counting the last, of step saved.
func (r *Trained) KeepStates(ctx context.Context, saved int) error {
	if r.Keep == nil || saved == 0 {
		return nil
	}
	return r.Weights.KeepStates(ctx, *r.Keep, saved)
}

// letGo lets go of the samples that are trained, even if the run went back from state to back.
func (s *Sampled) letGo(ctx context.Context, state, back trainer.State) error {
	if err := s.Pending.letGo(back.Step); err != nil {
		return err
	}
	switch {
	case s.Table != nil:
		return s.Table.Forget(ctx, back.Position)
	case s.Kept == nil:
		return nil
	}
	trained := state.Position.Step - 1
	if s.Asking.Adaptive {
		trained = back.Position.Step - 1 // the selectors learn again from where the run would go back to
	}
	return s.Kept.Done(max(0, trained), back.Position.Step-1)
}

// retireOld deletes the sampler weights that nobody will ask for again, even if the run went back, or if it is
// planned longer when it is done: those that the step after the last samples with stay.
func (r *Trained) retireOld(ctx context.Context, state, back trainer.State) error {
	keep, err := r.Sampled.Asking.Oldest(state)
	if err != nil {
		return err
	}
	var spared synchronizer.Range
	if !r.Durable && r.Sampled.Table == nil {
		spared.First, spared.End = r.Versions.Sync.Needed(max(1, back.Position.Step)), back.Step+1
	}
	return r.Versions.RetireOld(ctx, min(keep, state.Step), spared)
}
