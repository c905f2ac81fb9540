package explorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// tally counts what a step did; its fields are changed atomically.
type tally struct {
	tokens, failed, truncated, reused, left atomic.Int64
	nanos                                   int64
	took                                    []took // of each task
}

func (t *tally) into(m map[string]float64) {
	if n := t.tokens.Load(); n > 0 && t.nanos > 0 {
		m["perf/sampled_tokens_per_second"] = float64(n) / (float64(t.nanos) / 1e9)
	}
	if n := t.left.Load(); n > 0 {
		m["rollout/left_out_task_count"] = float64(n)
	}
	rolloutTimes(m, t.took)
	m["rollout/failed_task_count"] = float64(t.failed.Load())
	m["rollout/prompt_truncated_count"] = float64(t.truncated.Load())
}

// explore runs the tasks of a step that have no stored group and finds the groups of all in task order. A task that
// failed after all attempts has an empty group. Those of earlier steps are given their runners first.
func (x *Explorer) explore(ctx context.Context, f *flight, earlier <-chan struct{}) error {
	stored, err := x.store.Resume(f.step, x.Warn)
	if err != nil {
		return err
	}
	begin := time.Now()
	f.stats.took, f.groups = make([]took, len(f.tasks)), make([][]*experience.Experience, len(f.tasks))
	g, gctx := errgroup.WithContext(ctx)
	f.enough.begin(gctx)
	defer f.enough.stop()
	one := x.working(fmt.Sprintf("sampling step %d", f.step), len(f.tasks))
	for i, t := range f.tasks {
		if rec, ok := stored[t.ID]; ok {
			f.groups[i] = rec.Experiences
			f.stats.reused.Add(1)
			f.enough.finished()
			one()
			continue
		}
		if !x.runner(gctx, earlier) {
			break
		}
		g.Go(func() (err error) {
			defer func() { <-x.runners }()
			f.groups[i], err = x.group(gctx, f, t, &f.stats.took[i])
			if err != nil {
				return err
			}
			f.enough.finished()
			one()
			return x.store.Put(buffer.Record{Step: f.step, Task: t.ID, Experiences: f.groups[i]})
		})
	}
	close(f.given)
	if err := g.Wait(); err != nil || ctx.Err() != nil {
		return cmp.Or(err, context.Cause(ctx))
	}
	f.stats.nanos = time.Since(begin).Nanoseconds()
	for i, list := range f.groups {
		x.count(&f.stats, f.step, f.tasks[i], list, stored)
	}
	if f.stats.failed.Load() == int64(len(f.tasks)) {
		return fmt.Errorf("all %d tasks failed; the warnings above say why", len(f.tasks))
	}
	return nil
}

// runner waits for a runner that no task of an earlier step waits for; false: ctx has ended.
func (x *Explorer) runner(ctx context.Context, earlier <-chan struct{}) bool {
	select {
	case <-earlier:
	case <-ctx.Done():
		return false
	}
	select {
	case x.runners <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// group runs a task of a step. It is empty if the task failed or was left out.
func (x *Explorer) group(ctx context.Context, f *flight, t workflow.Task, spent *took) ([]*experience.Experience,
	error) {
	list, err := x.sample(f.enough.ctx, f.weights, t, spent)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	cut := context.Cause(f.enough.ctx) == errLeftOut
	switch {
	case err != nil && cut:
		list = nil
		f.stats.left.Add(1)
		err = x.note("left_out", f.step, "task "+t.ID)
	case errors.Is(err, tinker.ErrLost): // no other task will fare better
	case err != nil:
		list = nil
		x.Warn(fmt.Sprintf("explore step %d: task %d of %s failed and is left out: %v", f.step, t.Index,
			x.train.Name, err))
		err = nil
	case x.Partial && runs(list) < t.Repeat:
		if cut {
			f.stats.left.Add(1)
		}
		err = x.note("partial", f.step, fmt.Sprintf("task %s: %d of %d repetitions", t.ID, runs(list), t.Repeat))
	}
	for _, e := range list {
		e.Info.TasksetID = t.Taskset
	}
	return list, err
}

// runs is how many repetitions experiences are of.
func runs(list []*experience.Experience) int {
	seen := map[int]bool{}
	for _, e := range list {
		seen[e.EID.Run] = true
	}
	return len(seen)
}

// working says what the explorer works on and how many of n tasks are done. The result is called for each that is.
func (x *Explorer) working(what string, n int) (one func()) {
	if x.Busy == nil {
		return func() {}
	}
	var done atomic.Int64
	x.Busy(fmt.Sprintf("%s: 0 of %d tasks are done", what, n))
	return func() { x.Busy(fmt.Sprintf("%s: %d of %d tasks are done", what, done.Add(1), n)) }
}

// sample runs a training task, beside its greedy rollout if there is to be one.
func (x *Explorer) sample(ctx context.Context, from weights, t workflow.Task, spent *took) (
	[]*experience.Experience, error) {
	if !x.Greedy {
		return x.parts(ctx, from, t, spent)
	}
	var list []*experience.Experience
	var baseline float64
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		list, err = x.parts(ctx, from, t, spent)
		return err
	})
	g.Go(func() (err error) {
		baseline, err = x.greedy(ctx, from, t)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, e := range list {
		own := baseline
		e.Info.Baseline = &own
		if e.Metrics == nil {
			e.Metrics = map[string]float64{}
		}
		e.Metrics["greedy_reward"] = baseline
	}
	return list, nil
}

// greedy is the reward of a rollout at temperature 0, the mean if it has several experiences. It is not an experience
// itself.
func (x *Explorer) greedy(ctx context.Context, from weights, t workflow.Task) (float64, error) {
	set := x.train
	set.Workflow, set.Rollout = set.Way(t)
	set.Rollout.Params.Temperature = 0
	t.Repeat, t.Variant = 1, 0
	list, err := x.attempt(ctx, from, &set, t, nil)
	if err != nil {
		return 0, fmt.Errorf("greedy rollout: %w", err)
	}
	sum := 0.0
	for _, e := range list {
		if e.Reward == nil {
			return 0, fmt.Errorf("greedy rollout: experience %s has no reward", e.EID)
		}
		sum += *e.Reward
	}
	return sum / float64(max(1, len(list))), nil
}

func (x *Explorer) count(stats *tally, step int, t workflow.Task, list []*experience.Experience,
	stored map[string]buffer.Record) {
	if len(list) == 0 {
		stats.failed.Add(1)
	}
	for _, e := range list {
		if e.TruncateStatus == experience.PromptTruncated {
			stats.truncated.Add(1)
		}
		if _, reused := stored[t.ID]; !reused {
			stats.tokens.Add(int64(e.ResponseLength()))
		}
	}
	if len(list) > 0 && list[0].TruncateStatus == experience.PromptTruncated {
		x.Warn(fmt.Sprintf("explore step %d: the prompt of row %d is longer than %d tokens, the most for a prompt; "+
			"it is masked and trains nothing", step, t.Index, list[0].PromptLength))
	}
}

// attempt runs a task until an attempt succeeds or none is left, and notes how long that took.
func (x *Explorer) attempt(ctx context.Context, from weights, set *Taskset, t workflow.Task,
	spent *took) (list []*experience.Experience, err error) {
	w, r := set.Way(t)
	r.Sampler, r.Version = from.sampler, from.version
	r.Partial = x.Partial && set == &x.train
	first, last := time.Now(), time.Duration(0)
	for range 1 + x.Retries {
		tctx, cancel := ctx, context.CancelFunc(func() {})
		limit, why := x.Timeout, "explorer.max_timeout"
		if set == &x.train {
			limit, why = x.limit(limit, why)
		}
		if limit > 0 {
			tctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v (%s)", limit, why))
		}
		begin := time.Now()
		r.Grading = new(workflow.Clock)
		list, err = whole(w.Run(tctx, &r, t))
		last = time.Since(begin)
		timedOut := tctx.Err() != nil && ctx.Err() == nil
		cancel()
		if set == &x.train && !timedOut && ctx.Err() == nil {
			x.pace.add(last)
		}
		if err == nil || ctx.Err() != nil || tinker.CategoryOf(err) == tinker.User || errors.Is(err, tinker.ErrLost) {
			break // another attempt at a wrong request would go wrong as well
		}
	}
	if ctx.Err() == nil {
		spent.add(last, time.Since(first), r.Grading)
	}
	return list, err
}

// whole returns what a workflow returned, if that keeps the promise of Workflow.Run: no experiences beside an error, no
// nil among them, and numbers that training can use.
func whole(list []*experience.Experience, err error) ([]*experience.Experience, error) {
	if err == nil && slices.Contains(list, nil) {
		err = errors.New("the workflow returned a nil experience without an error; " +
			"it must return an error, or no such entry")
	}
	if err == nil {
		err = experience.CheckAll(list)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// evaluate runs the evaluation tasksets with weights and adds their metrics under prefix ("eval/" or
// "bench/").
func (x *Explorer) evaluate(ctx context.Context, from weights, step int, prefix string,
	metrics map[string]float64) error {
	begin := time.Now()
	for s := range x.eval {
		set := &x.eval[s]
		groups, times, err := x.evaluateSet(ctx, from, step, prefix, set)
		if err != nil {
			return err
		}
		if x.Evaluated != nil {
			if err := x.Evaluated(step, prefix, set.Name, slices.Concat(groups...)); err != nil {
				return err
			}
		}
		evalMetrics(metrics, prefix+set.Name, groups, times, x.Detailed)
	}
	if len(x.eval) > 0 {
		metrics["time/eval"] = time.Since(begin).Seconds()
	}
	return nil
}

// evaluateSet runs the tasks of a taskset that are not kept from an earlier call, and returns the groups of all.
func (x *Explorer) evaluateSet(ctx context.Context, from weights, step int, prefix string, set *Taskset) (
	[][]*experience.Experience, []took, error) {
	tasks, err := set.Tasks.Batch(1, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("evaluation of %s: %w", set.Name, err)
	}
	kept, err := x.keptEvaluations(step)
	if err != nil {
		return nil, nil, err
	}
	groups, times := make([][]*experience.Experience, len(tasks)), make([]took, len(tasks))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, cmp.Or(x.EvalRunners, x.Runners)))
	one := x.working(fmt.Sprintf("evaluating step %d on %s", step, set.Name), len(tasks))
	for i, t := range tasks {
		name := prefix + set.Name + "/" + strconv.Itoa(i)
		if r, ok := kept[name]; ok {
			groups[i] = r.Experiences
			one()
			continue
		}
		// the same draws at every evaluation: what differs is the weights
		x.name(&t, "eval/"+set.Name, strconv.Itoa(i), set.Repeat)
		g.Go(func() (err error) {
			defer one()
			if groups[i], err = x.evaluateTask(gctx, from, step, set, t, &times[i]); err != nil || groups[i] == nil ||
				x.Evaluations == nil {
				return err
			}
			return x.Evaluations.Put(buffer.Record{Step: step, Task: name, Experiences: groups[i]})
		})
	}
	return groups, times, g.Wait()
}

// keptEvaluations are the tasks of a step that earlier calls evaluated.
func (x *Explorer) keptEvaluations(step int) (map[string]buffer.Record, error) {
	if x.Evaluations == nil {
		return nil, nil
	}
	return x.Evaluations.Load(step)
}

// evaluateTask runs a task; nil is one that failed and is left out.
func (x *Explorer) evaluateTask(ctx context.Context, from weights, step int, set *Taskset, t workflow.Task,
	spent *took) ([]*experience.Experience, error) {
	list, err := x.attempt(ctx, from, set, t, spent)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, tinker.ErrLost):
		return nil, err
	case err != nil:
		x.Warn(fmt.Sprintf("evaluation at step %d: task %d of %s failed and is left out: %v", step, t.Index, set.Name,
			err))
	}
	return list, nil
}

// Evaluate evaluates one version of the weights, given by path, and returns its metrics under prefix.
func (x *Explorer) Evaluate(ctx context.Context, step int, path, prefix string) (map[string]float64, error) {
	// with a sampler of its own: the loop may be at work
	one := New(x.Options, x.service, x.sync, x.store, x.sink, x.train, x.eval)
	if err := one.use(ctx, step, path); err != nil {
		return nil, err
	}
	metrics := map[string]float64{}
	return metrics, one.evaluate(ctx, one.latest, step, prefix, metrics)
}
