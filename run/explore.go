package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
)

// exploring is an explorer and what it explores.
type exploring struct {
	explorer *explorer.Explorer
	kept     *explorer.Kept // until it is trained; nil in mode bench
	train    explorer.Taskset
	evals    []explorer.Taskset
	first    int  // explore step to begin with
	steps    int  // explore steps in all
	adaptive bool // the choice of tasks depends on how earlier ones went
}

// sinks are what an explorer writes to and hears from.
type sinks struct {
	travel   travel
	exchange buffer.Exchange
	monitor  *monitor.Monitor
	raw      buffer.Copy // of what was sampled, before the pipeline; nil: none
}

// openExploring makes the explorer of a configuration, which begins with explore step first or an earlier one.
func openExploring(ctx context.Context, b *job, to sinks, first int) (x exploring, err error) {
	x.first = first
	if b.cfg.Mode != config.Bench {
		if x, err = openTrainTasks(ctx, b, first); err != nil {
			return x, err
		}
	}
	list := b.cfg.Buffer.ExplorerInput.EvalTasksets
	for i := range list {
		t, err := b.evalTaskset(ctx, &list[i], "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]")
		if err != nil {
			return x, err
		}
		x.evals = append(x.evals, t)
	}
	x.explorer, err = newExplorer(b, x, to)
	return x, err
}

// openTrainTasks opens what is trained on, and the store of its groups.
func openTrainTasks(ctx context.Context, b *job, first int) (x exploring, err error) {
	var t *tasks
	if x.train, t, x.steps, err = b.trainTasksets(ctx); err != nil {
		return x, err
	}
	x.adaptive = t.states != nil
	if x.first, err = firstStep(explorerState(b), t, first); err != nil {
		return x, err
	}
	store, err := buffer.OpenStore(storePath(b.folder()), b.fs)
	if err != nil {
		return x, err
	}
	b.opened(store.Close)
	x.kept = &explorer.Kept{FS: b.fs, Path: explorerState(b), Store: store, Tasks: t, Batch: b.cfg.Buffer.BatchSize}
	return x, nil
}

// explorerOptions are those of a configuration's explorer but for what it writes to.
func explorerOptions(b *job, x exploring) (explorer.Options, error) {
	operators, err := pipelineOf(b.cfg, b.Plugins)
	if err != nil {
		return explorer.Options{}, err
	}
	e := b.cfg.Explorer
	o := explorer.Options{
		Seed: b.identity.Seed, First: x.first, Steps: x.steps, BatchSize: b.cfg.Buffer.BatchSize,
		Runners: runnersOf(b.cfg, b.backend), Retries: e.MaxRetryTimes, Timeout: seconds(e.MaxTimeout),
		EvalInterval: e.EvalInterval, EvalLast: b.aside(), Apart: b.aside(), Detailed: b.cfg.Monitor.DetailedStats,
		Pipeline: operators, Advantage: b.method.Advantage, AdvantageName: b.cfg.Algorithm.AdvantageFn,
		Greedy: b.method.Needs().Baseline, BaseModel: b.model.name,
		MaxRepeat: value(e.MaxRepeatTimesPerRunner), WaitAfterMin: seconds(e.OverRollout.WaitAfterMin),
		Warn: b.progress.Warn,
	}
	if e.DynamicTimeout.Enable {
		o.DynamicTimeout = e.DynamicTimeout.Ratio
	}
	if r := e.OverRollout.Ratio; r > 0 {
		o.MinTasks = int(math.Ceil(float64(b.cfg.Buffer.BatchSize) * (1 - r)))
	}
	return o, nil
}

// runnersOf is how many tasks run at a time. The configuration counts them by its own inference engines; a server has
// a queue of its own and says when it is full, so there all tasks of a step are asked for at once.
func runnersOf(cfg *config.Config, backend config.Backend) int {
	x := cfg.Explorer
	n := max(1, x.RunnerPerModel*max(1, x.RolloutModel.EngineNum))
	if backend.Kind != config.Local {
		n = max(n, samplesOf(cfg)) // however finely max_repeat_times_per_runner cuts them
	}
	return n
}

// pipelineOf are the steps that experiences go through before they are scored.
func pipelineOf(cfg *config.Config, own Plugins) ([]pipeline.Step, error) {
	var steps []pipeline.Step
	var errs []error
	for i, op := range cfg.DataProcessor.ExperiencePipeline.Operators {
		s, err := pipeline.New(op.Name, op.Args, own.Operators)
		if err != nil {
			key := fmt.Sprintf("data_processor.experience_pipeline.operators[%d]", i)
			errs = append(errs, at(key+".name", atArgs(key+".args", err)))
		}
		steps = append(steps, s)
	}
	return steps, errors.Join(errs...)
}

// firstStep is the explore step to begin with: first, or an earlier one, whose groups are stored, when the choice of
// tasks learns from how earlier ones went and what it has learned was written before them.
func firstStep(path string, t *tasks, first int) (int, error) {
	if t.states == nil {
		return first, nil
	}
	s, there, err := explorer.ReadState(path)
	if err != nil || !there {
		return 1, err
	}
	if err := t.mix.Restore(s.Tasksets); err != nil {
		return 0, fmt.Errorf("run: %s: %w", path, err)
	}
	return min(first, s.Step+1), nil
}

// newExplorer makes the explorer of what x has.
func newExplorer(b *job, x exploring, to sinks) (*explorer.Explorer, error) {
	o, err := explorerOptions(b, x)
	if err != nil {
		return nil, err
	}
	rollouts := buffer.Rollouts{FS: b.fs, Dir: b.folder().File("rollouts")}
	o.Raw, o.Evaluated, o.Note = to.raw, rollouts.Evaluated, to.travel.order.Sampling
	var store *buffer.Store
	if x.kept != nil {
		store = x.kept.Store
	}
	sink := &record.Explored{Rollouts: rollouts, Monitor: to.monitor, Progress: b.progress, To: to.exchange,
		Lines: linesOf(b), Aside: b.aside(), Kept: x.kept}
	return explorer.New(o, b.service, to.travel.sync, store, sink, x.train, x.evals), nil
}

// linesOf says in which line of metrics an explore step stands.
func linesOf(b *job) record.Lines {
	if b.aside() {
		return record.OwnLines{}
	}
	return record.TrainLines{Explored: samplesOf(b.cfg), Trained: sampledOf(b.cfg, b.method)}
}
