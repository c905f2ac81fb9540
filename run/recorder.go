package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/experience"
	"github.com/seed-d9ad8ee0/trinity/trainer"
)

// recorder hears of everything the loops do and writes it where it belongs.
type recorder struct {
	job       *job
	committed int
}

// Explored implements explorer.Sink: the samples are written down and handed to the trainer.
func (r *recorder) Explored(ctx context.Context, step int, metrics map[string]float64, list []*experience.Experience) error {
	if err := r.job.writeRollouts(step, list); err != nil {
		return err
	}
	r.job.monitor.Add(r.line(step), "explorer", metrics)
	r.job.progress.explored(step, len(list))
	return r.job.source.put(ctx, step, list)
}

// line is the train step whose line in metrics.jsonl has the metrics of an explore step: the first that trains on it.
func (r *recorder) line(step int) int {
	perStep := r.job.cfg.Buffer.BatchSize * r.job.cfg.Algorithm.RepeatTimes
	return (step-1)*perStep/max(1, r.job.cfg.Buffer.TrainBatchSize) + 1
}

// Published implements trainer.Events.
func (r *recorder) Published(_ context.Context, step int, path string) error {
	r.job.sync.Publish(step, path)
	return nil
}

// Stepped implements trainer.Events. The last step is evaluated before its line is written.
func (r *recorder) Stepped(ctx context.Context, step int, metrics map[string]float64, tokens int) error {
	b := r.job
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

// Committed implements trainer.Events: what was kept in case the step had to be repeated can go.
func (r *recorder) Committed(ctx context.Context, step int, trained trainer.Position) error {
	b := r.job
	r.committed = step
	if b.explorer == nil {
		return nil
	}
	if err := b.store.Drop(trained.Step - 1); err != nil {
		return err
	}
	keep := b.sync.Version(trained.Step)
	if step == b.steps {
		keep = step // the last weights are the result
	}
	for _, path := range b.sync.Retire(min(keep, step)) {
		if err := b.retire(ctx, path); err != nil {
			return err
		}
	}
	return nil
}
