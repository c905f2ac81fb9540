package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// recorder hears of everything the loops do and writes it where it belongs.
type recorder struct{ job *job }

// Explored implements explorer.Sink: the samples are written down and handed to the trainer.
func (r *recorder) Explored(ctx context.Context, step int, metrics map[string]float64, list []*experience.Experience) error {
	if err := r.job.writeRollouts(step, list); err != nil {
		return err
	}
	b := r.job
	b.monitor.Add(r.line(step), "explorer", metrics)
	if b.aside() {
		line, err := b.monitor.Commit(step)
		if err != nil {
			return err
		}
		b.progress.step(step, line)
	}
	b.progress.explored(step, len(list))
	if err := b.outlet.put(ctx, step, list); err != nil {
		return err
	}
	if _, kept := b.outlet.(keeper); !kept {
		return nil // what the trainer has not read yet is only in the store
	}
	if b.explorer == nil {
		return nil // served
	}
	if err := b.writeExplorerState(step); err != nil {
		return err
	}
	return b.store.Drop(step)
}

// line is the train step whose line in metrics.jsonl has the metrics of an explore step: the first that trains on it.
func (r *recorder) line(step int) int {
	if r.job.aside() {
		return step
	}
	if r.job.explorer == nil {
		return r.job.trainer.Step() + 1 // served: what is committed has any size
	}
	perStep := r.job.cfg.Buffer.BatchSize * r.job.cfg.Algorithm.RepeatTimes
	return (step-1)*perStep/r.job.sampled() + 1
}

// Published implements trainer.Events.
func (r *recorder) Published(ctx context.Context, step int, path string) error {
	r.job.sync.Publish(step, path)
	return r.job.dropReplaced(ctx, step, path)
}

// Stepped implements trainer.Events. The last step is evaluated before its line is written.
func (r *recorder) Stepped(ctx context.Context, step int, metrics map[string]float64, tokens int) error {
	b := r.job
	if b.failed != nil {
		return b.failed
	}
	b.monitor.Add(step, "trainer", metrics)
	if step == b.steps && b.explorer != nil && len(b.evals) > 0 {
		b.progress.phase("evaluating the trained model")
		path, err := b.sync.Wait(ctx, step)
		if err != nil {
			return err
		}
		eval, err := b.explorer.Evaluate(ctx, step, path, "eval/")
		if err != nil {
			return fmt.Errorf("evaluation at the end: %w", err)
		}
		b.monitor.Add(step, "explorer", eval)
	}
	line, err := b.monitor.Commit(step)
	if err != nil {
		return err
	}
	b.progress.step(step, line)
	return nil
}

// Committed implements trainer.Events: what was kept in case the step had to be repeated can go. On a service that
// keeps no models that is all since the last saved state: the groups, and the weights that the next step behind it
// samples with.
func (r *recorder) Committed(ctx context.Context, state trainer.State) error {
	b := r.job
	if err := b.keepCheckpoints(ctx, state.Saved); err != nil {
		return err
	}
	if b.source == nil {
		return nil
	}
	back := state
	if !b.durable() {
		back = state.Back()
	}
	if b.table != nil {
		if err := b.table.table.Forget(ctx, back.Position.Count); err != nil {
			return err
		}
	} else if b.explorer != nil {
		trained := state.Position.Step - 1
		if b.tasks.states != nil {
			trained = back.Position.Step - 1 // the selectors learn again from where the run would go back to
		}
		if err := b.writeExplorerState(max(0, trained)); err != nil {
			return err
		}
		if err := b.store.Drop(back.Position.Step - 1); err != nil {
			return err
		}
	}
	return b.retireOld(ctx, state, back)
}

// retireOld deletes the sampler weights that nobody will ask for again, even if the run went back, or if it is planned longer when it is done:
// those that the step behind the last samples with stay.
func (b *job) retireOld(ctx context.Context, state, back trainer.State) error {
	keep, err := b.needed(state)
	if err != nil {
		return err
	}
	spare := func(int) bool { return false }
	if !b.durable() && b.table == nil {
		first := b.sync.Needed(max(1, back.Position.Step))
		spare = func(version int) bool { return first <= version && version <= back.Step }
	}
	for _, path := range b.sync.Retire(min(keep, state.Step, b.sync.Newest()), spare) {
		if path == b.startSampler {
			continue // no version that the run made
		}
		if err := b.retire(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// explorerState is <explorer>_meta.json as upstream writes it: how many explore steps are trained, and the rows they
// took. This program goes on from trainer_meta.json; the file is there for upstream and for people.
type explorerState struct {
	Step     int             `json:"latest_iteration"`
	Tasksets json.RawMessage `json:"taskset_states"`
}

func (b *job) statePath() string { return filepath.Join(b.dir, b.cfg.Explorer.Name+"_meta.json") }

func (b *job) writeExplorerState(step int) error {
	states, err := b.tasks.before(step+1, b.cfg.Buffer.BatchSize)
	if err != nil {
		return err
	}
	return disk.WriteJSON(b.fs, b.statePath(), explorerState{step, states})
}

// learned gives the selectors back what they had learned, and returns the step to begin with: first, or an earlier one,
// whose groups are stored and from which they learn again, when the state that was written last is of that.
func (b *job) learned(first int) (int, error) {
	data, err := os.ReadFile(b.statePath())
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	var s explorerState
	if err == nil {
		err = errors.Join(disk.Unseal(data), json.Unmarshal(data, &s))
	}
	if err == nil {
		err = b.tasks.mix.Restore(s.Tasksets)
	}
	if err != nil {
		return 0, fmt.Errorf("run: %s: %w", b.statePath(), err)
	}
	return min(first, s.Step+1), nil
}
