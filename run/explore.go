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
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
)

// exploring is what an explorer explores and how.
type exploring struct {
	train explorer.Taskset // no tasks in mode bench
	evals []explorer.Taskset
	steps int // explore steps in all
}

// openTasksets opens what is explored and what is evaluated on.
func openTasksets(ctx context.Context, b *job) (x exploring, err error) {
	if b.cfg.Mode != config.Bench {
		if x.train, x.steps, err = b.trainTasksets(ctx); err != nil {
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
		Seed: b.identity.Seed, Steps: x.steps, BatchSize: b.cfg.Buffer.BatchSize,
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

// runnersOf is how many tasks run at a time. The configuration counts them by its own inference engines; a server has a queue of its own and
// says when it is full, so there all tasks of a step are asked for at once.
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

// firstStep is the explore step to begin with: first, or an earlier one, whose groups are stored, when the choice of tasks learns from how
// earlier ones went and what it has learned was written before them.
func firstStep(path string, t *tasks, first int) (int, error) {
	if t == nil || t.states == nil {
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

// openExplorer makes the explorer, which begins with step first. kept is nil in mode bench.
func openExplorer(
	ctx context.Context, b *job, l *loops, x exploring, kept *explorer.Kept, between between, first int,
) (*explorer.Explorer, error) {
	o, err := explorerOptions(b, x)
	if err != nil {
		return nil, err
	}
	o.First = first
	if o.Raw, err = between.openRaw(ctx); err != nil {
		return nil, err
	}
	rollouts := buffer.Rollouts{FS: b.fs, Dir: b.folder().File("rollouts")}
	o.Evaluated = rollouts.Evaluated
	o.Note = l.travel.order.Sampling
	var store *buffer.Store
	if kept != nil {
		store = kept.Store
	}
	sink := &record.Explored{Rollouts: rollouts, Monitor: l.monitor, Progress: b.progress, To: l.exchange,
		Lines: linesOf(b), Aside: b.aside(), Kept: kept}
	return explorer.New(o, b.service, l.travel.sync, store, sink, x.train, x.evals), nil
}

// linesOf says in which line of metrics an explore step stands.
func linesOf(b *job) record.Lines {
	if b.aside() {
		return record.OwnLines{}
	}
	return record.TrainLines{Explored: samplesOf(b.cfg), Trained: sampledOf(b.cfg, b.method)}
}
