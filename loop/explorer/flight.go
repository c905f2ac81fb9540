package explorer

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// flight is an explore step under way.
type flight struct {
	step    int
	tasks   []workflow.Task
	weights weights // of all its tasks, whatever is published meanwhile
	begin   time.Time
	waited  time.Duration // for the weights
	enough  *quorum

	given chan struct{} // closed when all tasks have a runner
	done  chan struct{} // closed when the rest is there:

	groups [][]*experience.Experience
	stats  tally
	err    error
}

// begin starts an explore step when its weights are there. The tasks of earlier steps are given runners first.
func (x *Explorer) begin(ctx context.Context, step int, earlier <-chan struct{}) (*flight, error) {
	f := &flight{step: step, begin: time.Now(), enough: x.quorum(), given: make(chan struct{}),
		done: make(chan struct{})}
	var err error
	if f.tasks, err = x.train.Tasks.Batch(step, x.BatchSize); err != nil {
		return nil, err
	}
	if f.weights, err = x.awaitSampler(ctx, step); err != nil {
		return nil, err
	}
	f.waited = time.Since(f.begin)
	for i := range f.tasks {
		x.name(&f.tasks[i], strconv.Itoa(step), strconv.Itoa(i), x.train.Repeat)
	}
	x.inFlight.Go(func() {
		defer close(f.done)
		f.err = x.explore(ctx, f, earlier)
	})
	return f, nil
}

// end waits for the end of the oldest step under way, scores it and hands it on.
func (x *Explorer) end(ctx context.Context, f *flight) error {
	f.enough.awaited()
	<-f.done
	if f.err != nil {
		return f.err
	}
	if f.stats.left.Load() == 0 {
		x.pace.complete()
	}
	list := slices.Concat(f.groups...)
	metrics := rolloutMetrics(f.groups)
	metrics["rollout/model_version"] = float64(f.weights.version)
	if x.Raw != nil {
		if err := x.Raw.Put(ctx, f.step, list); err != nil {
			return err
		}
	}
	sampled := slices.Clone(list) // operators may use its memory again
	list, err := x.Score(ctx, f.step, list, metrics)
	if err != nil {
		return err
	}
	if x.LeftOut != nil {
		x.LeftOut(f.step, without(sampled, list))
	}
	metrics["time/wait_explore_step"] = time.Since(f.begin).Seconds() - f.waited.Seconds()
	metrics["time/explorer_sync_interval"] = f.waited.Seconds()
	f.stats.into(metrics)
	if x.EvalInterval > 0 && f.step%x.EvalInterval == 0 && (f.step != x.Steps || x.EvalLast) {
		if err := x.evaluate(ctx, f.weights, f.step, "eval/", metrics); err != nil {
			return err
		}
	}
	return x.sink.Explored(ctx, f.step, metrics, list)
}
