// Package bench evaluates the states that a job has saved, one after another: mode bench.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

// Bench is what it takes to evaluate a job's states.
type Bench struct {
	Weights  synchronizer.Weights
	Explorer *explorer.Explorer
	Monitor  *monitor.Monitor
	Progress *console.Progress
	Role     string // of the metrics
	Start    string // the path to sample the model from that the job began with; empty: the base model
	Samples  bool   // the service samples from saved states themselves
	First    bool   // the model that the job began with is evaluated too
	Latest   bool   // the last state alone
}

// Run evaluates the states in their order, each with a line of metrics. After the last one the explorer's Evaluations
// are dropped.
func (b *Bench) Run(ctx context.Context) error {
	steps, err := b.steps()
	if err != nil {
		return err
	}
	for _, step := range steps {
		b.Progress.Phase(fmt.Sprintf("evaluating step %d", step))
		metrics, err := b.evaluate(ctx, step)
		if err != nil {
			return fmt.Errorf("run: step %d: %w", step, err)
		}
		b.Monitor.Add(step, b.Role, metrics)
		line, err := b.Monitor.Commit(step)
		if err != nil {
			return err
		}
		b.Progress.Step(step, line)
	}
	return b.Explorer.Evaluations.Drop(math.MaxInt)
}

// steps are those to evaluate; 0 is the model as it was at the beginning.
func (b *Bench) steps() ([]int, error) {
	steps, err := b.Weights.States()
	if err != nil {
		return nil, err
	}
	switch {
	case b.Latest && len(steps) == 0:
		return nil, fmt.Errorf("run: explorer.bench_on_latest_checkpoint is true, and %s has no saved state; "+
			"train the job first, or leave it out",
			b.Weights.Dir)
	case b.Latest:
		return steps[len(steps)-1:], nil
	case b.First || len(steps) == 0:
		return append([]int{0}, steps...), nil
	}
	return steps, nil
}

// evaluate evaluates the weights of a step. A server samples from weights saved for that alone: they are made of the
// state, and deleted.
func (b *Bench) evaluate(ctx context.Context, step int) (map[string]float64, error) {
	if step == 0 {
		return b.Explorer.Evaluate(ctx, step, b.Start, "bench/")
	}
	state, err := b.Weights.State(step)
	if err != nil {
		return nil, err
	}
	if b.Samples {
		return b.Explorer.Evaluate(ctx, step, state, "bench/")
	}
	path, err := b.Weights.Lend(ctx, state, fmt.Sprintf("%s-bench-%d", b.Weights.Prefix, step))
	if err != nil {
		return nil, err
	}
	metrics, err := b.Explorer.Evaluate(ctx, step, path, "bench/")
	return metrics, errors.Join(err, b.Weights.TakeBack(ctx, path))
}
