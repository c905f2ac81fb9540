package gem

import (
	"context"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// events record what the trainer does. They implement trainer.Events. The trainer's step n is the run's step n-1.
type events struct{ *Trainer }

// Published implements trainer.Events: the step after these weights samples with them.
func (t events) Published(ctx context.Context, step int, path string) (err error) {
	t.metrics = monitor.Metrics{}
	t.heading(step)
	if t.policy.Sampler, err = t.Service.SamplingClient(
		ctx, tinker.SamplingClientRequest{ModelPath: path}); err != nil {
		return err
	}
	if !t.Config.evaluates(step) {
		return nil
	}
	return t.evaluate(ctx, t.policy.Sampler, t.metrics)
}

// Stepped implements trainer.Events. Of the trainer's metrics it records those that GEM has.
func (t events) Stepped(_ context.Context, step int, metrics map[string]float64, _ int) error {
	m := maps.Clone(t.metrics)
	for k, v := range metrics {
		if strings.HasPrefix(k, "train/") || k == "sampler/token_entropy" {
			m[k] = v
		}
	}
	m["time/sample"], m["time/train"] = metrics["time/read_experience"], metrics["time/train_step"]
	t.printMetrics(step-1, m)
	t.monitor.Add(step-1, role, m)
	t.monitor.Samples(step-1, role, t.rollouts().Path(step-1))
	_, err := t.monitor.Commit(step - 1)
	return err
}

// Committed implements trainer.Events: what was kept in case the step had to be repeated goes.
func (t events) Committed(ctx context.Context, s trainer.State) error {
	t.done = s.Step
	if err := t.notes.retire(ctx, t.Service, t.Config.KeepSamplers); err != nil {
		return err
	}
	t.left()
	last := s.Step
	if !t.Durable {
		last = s.Saved // the later steps may have to be trained again
	}
	return t.store.Drop(last - 1)
}
