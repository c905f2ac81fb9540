package load

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// RunsResult is the time and the losses of many concurrent runs.
type RunsResult struct {
	Runs, Steps int
	Took        time.Duration // training, without the creation of the models
	First, Last float64       // loss of the first and the last step
}

// Runs trains that many runs at once for some steps each, with forward_backward and optim_step sent together. Every
// loss must fall. If logprobs are exact, all runs must have the same losses, since they begin with the same weights.
func (l *Load) Runs(ctx context.Context, runs, steps int) (RunsResult, error) {
	out := RunsResult{Runs: runs, Steps: steps}
	models := make([]tinker.TrainingClient, runs)
	making, mctx := errgroup.WithContext(ctx)
	for i := range models {
		making.Go(func() (err error) {
			models[i], err = l.run(mctx)
			return err
		})
	}
	if err := making.Wait(); err != nil {
		return out, err
	}
	losses := make([][]float64, runs)
	training, tctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i, m := range models {
		training.Go(func() (err error) {
			losses[i], err = train(tctx, m, steps)
			return err
		})
	}
	if err := training.Wait(); err != nil {
		return out, err
	}
	out.Took = time.Since(begun)
	for i, all := range losses {
		out.First, out.Last = all[0], all[steps-1]
		if !(out.Last < out.First) {
			return out, fmt.Errorf("load: the loss of run %d goes from %v to %v", i, out.First, out.Last)
		}
		for s := range all {
			if l.exact && all[s] != losses[0][s] {
				return out, fmt.Errorf("load: loss %d of run %d is %v, of run 0 %v; the runs are the same", s+1, i,
					all[s], losses[0][s])
			}
		}
	}
	return out, nil
}

// train returns the loss of every step.
func train(ctx context.Context, m tinker.TrainingClient, steps int) ([]float64, error) {
	const tokens = 32
	adam := tinker.DefaultAdam()
	adam.LearningRate = 1e-3
	var losses []float64
	for s := range steps {
		f, err := m.ForwardBackward(ctx, batch(int64(2*s+1), tokens, 0))
		if err != nil {
			return nil, err
		}
		g, err := m.OptimStep(ctx, tinker.OptimStepRequest{SeqID: int64(2*s + 2), Adam: adam})
		if err != nil {
			return nil, err
		}
		o, err := f.Wait(ctx)
		if err != nil {
			return nil, err
		}
		if err := check(o, tokens); err != nil {
			return nil, err
		}
		losses = append(losses, o.Metrics["loss:sum"])
		if _, err := g.Wait(ctx); err != nil {
			return nil, err
		}
	}
	return losses, nil
}
