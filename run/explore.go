package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
)

// onlyExplore checks that mode explore has somewhere to put what it samples.
func (b *job) onlyExplore() error {
	if b.aside() && b.outlet == nil {
		return fmt.Errorf("run: mode %s hands its experiences to another process; set buffer.trainer_input.experience_buffer.storage_type: sql (or file, to keep them as JSON lines)", b.cfg.Mode)
	}
	return nil
}

// sayTrainerDone tells the user of an explorer that is planned longer that the trainer has to be started again too.
func (b *job) sayTrainerDone() error {
	status, ok, err := b.folder.Trainer()
	if err == nil && ok && status.State == synchronizer.Done && b.explorer.First <= b.explorer.Steps {
		b.noteOnce("the trainer of this job was done with step %d; start it again with the longer plan, or explore step %d may wait for its weights until synchronizer.sync_timeout is over",
			status.Step, b.explorer.First)
	}
	return err
}

func (b *job) buildExplorer(ctx context.Context, state trainer.State, rec *recorder) (steps int, err error) {
	var train explorer.Taskset
	if b.cfg.Mode != config.Bench {
		if train, steps, err = b.trainTasksets(ctx); err != nil {
			return 0, err
		}
	}
	for i := range b.cfg.Buffer.ExplorerInput.EvalTasksets {
		t, err := b.evalTaskset(ctx, &b.cfg.Buffer.ExplorerInput.EvalTasksets[i], "buffer.explorer_input.eval_tasksets["+strconv.Itoa(i)+"]")
		if err != nil {
			return 0, err
		}
		b.evals = append(b.evals, t)
	}
	first := b.exploreStep(state)
	if b.tasks != nil && b.tasks.states != nil {
		if first, err = b.learned(first); err != nil {
			return 0, err
		}
	}
	operators, err := b.operators()
	if err != nil {
		return 0, err
	}
	raw, err := b.rawSink(ctx)
	if err != nil {
		return 0, err
	}
	x := b.cfg.Explorer
	dynamic, least := 0.0, 0
	if x.DynamicTimeout.Enable {
		dynamic = x.DynamicTimeout.Ratio
	}
	if r := x.OverRollout.Ratio; r > 0 {
		least = int(math.Ceil(float64(b.cfg.Buffer.BatchSize) * (1 - r)))
	}
	b.explorer = explorer.New(explorer.Options{
		Seed: b.identity.Seed, First: first, Steps: steps, BatchSize: b.cfg.Buffer.BatchSize,
		Runners: b.runners(), Retries: x.MaxRetryTimes,
		Timeout: seconds(x.MaxTimeout), EvalInterval: x.EvalInterval, EvalLast: b.aside(), Apart: b.aside(), Detailed: b.cfg.Monitor.DetailedStats, Pipeline: operators, Advantage: b.method.Advantage, AdvantageName: b.cfg.Algorithm.AdvantageFn, BaseModel: b.model.name,
		DynamicTimeout: dynamic, MaxRepeat: value(x.MaxRepeatTimesPerRunner), MinTasks: least, WaitAfterMin: seconds(x.OverRollout.WaitAfterMin),
		Note: func(event string, step int, detail string) error { return b.order.Note(event, step, 0, detail) },
		Raw:  raw, Evaluated: b.writeEvaluated,
		Greedy: b.method.Needs().Baseline,
		Warn:   func(msg string) { b.progress.warn(msg) },
	}, b.service, b.sync, b.store, rec, train, b.evals)
	return steps, nil
}

// runners is how many tasks run at a time. The configuration counts them by its own inference engines; a server has a queue of its own and
// says when it is full, so there all tasks of a step are asked for at once.
func (b *job) runners() int {
	x := b.cfg.Explorer
	n := max(1, x.RunnerPerModel*max(1, x.RolloutModel.EngineNum))
	if b.backend.Kind != config.Local {
		n = max(n, b.cfg.Buffer.BatchSize*b.cfg.Algorithm.RepeatTimes) // however finely max_repeat_times_per_runner cuts them
	}
	return n
}

// operators are the steps that experiences go through before they are scored.
func (b *job) operators() ([]pipeline.Step, error) {
	var steps []pipeline.Step
	var errs []error
	for i, op := range b.cfg.DataProcessor.ExperiencePipeline.Operators {
		s, err := pipeline.New(op.Name, op.Args, b.Plugins.Operators)
		if err != nil {
			key := fmt.Sprintf("data_processor.experience_pipeline.operators[%d]", i)
			errs = append(errs, at(key+".name", atArgs(key+".args", err)))
		}
		steps = append(steps, s)
	}
	return steps, errors.Join(errs...)
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// exploreStep is the first explore step that is to be done, as far as the trainer's state knows it.
func (b *job) exploreStep(state trainer.State) int {
	if k, ok := b.outlet.(keeper); ok {
		return k.explored() + 1
	}
	return max(1, state.Position.Step)
}

func seconds(s float64) time.Duration {
	return time.Duration(math.Min(s*float64(time.Second), math.MaxInt64/2))
}
