package run

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// bench evaluates the states that the job has saved, in their order, each with a line of metrics. After the last one
// the finished tasks of evaluations are dropped.
func (l *loops) bench(ctx context.Context) error {
	ctx, cancel := l.WhileWanted(ctx)
	defer cancel()
	steps, err := l.savedSteps()
	if err != nil {
		return err
	}
	for _, step := range steps {
		l.Progress.Phase(fmt.Sprintf("evaluating step %d", step))
		metrics, err := l.evaluateSaved(ctx, step)
		if err != nil {
			return fmt.Errorf("run: step %d: %w", step, err)
		}
		if err := l.commitMetrics(step, jobdir.Benchmark, metrics); err != nil {
			return err
		}
	}
	return l.exploring.evaluations.Drop(math.MaxInt)
}

// savedSteps are those to evaluate; 0 is the model as it was at the beginning.
func (l *loops) savedSteps() ([]int, error) {
	steps, err := l.weights.States()
	x := l.Config.Explorer
	switch {
	case err != nil:
		return nil, err
	case x.BenchOnLatestCheckpoint && len(steps) == 0:
		return nil, fmt.Errorf("run: explorer.bench_on_latest_checkpoint is true, and %s has no saved state; "+
			"train the job first, or leave it out", l.weights.Dir)
	case x.BenchOnLatestCheckpoint:
		return steps[len(steps)-1:], nil
	case x.EvalOnStartup || len(steps) == 0:
		return append([]int{0}, steps...), nil
	}
	return steps, nil
}

// evaluateSaved evaluates the weights of a step. A server samples from weights saved for that alone: they are made of
// the state, and deleted. The local engine samples from the state.
func (l *loops) evaluateSaved(ctx context.Context, step int) (map[string]float64, error) {
	evaluate := func(path string) (map[string]float64, error) {
		return l.exploring.explorer.Evaluate(ctx, step, path, "bench/")
	}
	if step == 0 {
		return evaluate(l.Start.Sampler)
	}
	state, err := l.weights.State(step)
	if err != nil {
		return nil, err
	}
	if l.Local() {
		return evaluate(state)
	}
	path, err := l.weights.Lend(ctx, state, fmt.Sprintf("%s-bench-%d", l.weights.Prefix, step))
	if err != nil {
		return nil, err
	}
	metrics, err := evaluate(path)
	return metrics, errors.Join(err, l.weights.TakeBack(ctx, path))
}

// commitMetrics writes an evaluation's line of metrics.
func (l *loops) commitMetrics(step int, role string, metrics map[string]float64) error {
	l.monitor.Add(step, role, metrics)
	line, err := l.monitor.Commit(step)
	if err != nil {
		return err
	}
	l.Progress.Step(step, line)
	return nil
}
