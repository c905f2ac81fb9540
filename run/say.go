package run

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sayPlan says what is about to happen, before anything long begins.
func (l *loops) sayPlan() {
	c := l.cfg
	fmt.Fprintf(l.site.Out, "job      %s\nseed     %d\n", l.folder.Path, int64(l.id.Seed))
	switch c.Mode {
	case config.Bench, config.Serve:
		return
	case config.Explore:
		fmt.Fprintf(l.site.Out, "plan     explore %d steps of %d tasks × %d samples for a trainer in another process\n",
			l.exploring.steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes)
		if l.exploring.first > 1 {
			fmt.Fprintf(l.site.Out, "resume   with explore step %d\n", l.exploring.first)
		}
		return
	case config.ServeTrain:
		fmt.Fprintf(l.site.Out, "plan     %s: steps of %d experiences that are committed\n", c.Algorithm.Type,
			c.Buffer.TrainBatchSize)
	case config.Train:
		fmt.Fprintf(l.site.Out, "plan     %s: %d steps of %d examples\n", c.Algorithm.Type, l.training.steps,
			c.Buffer.TrainBatchSize)
	default:
		fmt.Fprintf(l.site.Out, "plan     %s: %d steps, each %d tasks × %d samples, at most %s tokens; the time left "+
			"is shown from the second step on\n",
			c.Algorithm.Type, l.training.steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes, mostTokensOf(c))
	}
	l.sayWhere()
}

// mostTokensOf is how many tokens an explore step has at most, for a person.
func mostTokensOf(c *config.Config) string {
	m := c.Model
	if m.MaxResponseTokens == nil || m.MaxPromptTokens == nil {
		return "?"
	}
	return strconv.Itoa(plan.ExploreSamples(c) * (*m.MaxResponseTokens + *m.MaxPromptTokens))
}

// sayWhere says where the trainer continues.
func (l *loops) sayWhere() {
	step := l.training.trainer.Step()
	l.say.progress.Start(l.training.steps, "job", l.folder.Path, "seed", int64(l.id.Seed), "steps", l.training.steps,
		"after", step)
	if done := plan.Complete(l.cfg, step, l.training.steps); done != "" {
		fmt.Fprintln(l.site.Out, "done    ", done)
		return
	}
	if step == 0 && l.resumed.lost == 0 {
		return
	}
	again := ""
	if l.resumed.lost > 0 {
		again = fmt.Sprintf(", the last saved state; training repeats up to step %d, on the stored samples",
			step+l.resumed.lost)
	}
	fmt.Fprintf(l.site.Out, "resume   after step %d%s\n", step, again)
}

// forecast says how long the run will take, where that can be measured.
func (l *loops) forecast(ctx context.Context) (string, error) {
	e := l.models.service.Engine
	if l.training.trainer == nil || e == nil || l.cfg.Model.RandomInit || !l.cfg.Mode.Explores() {
		return "", nil
	}
	return l.seen.Forecast(ctx, e, l.training.steps-l.training.trainer.Step())
}

// sayEntropies says before the run starts what a service without exact entropies makes of an algorithm that reads them.
func sayEntropies(
	ctx context.Context, service tinker.Service, cfg *config.Config, m *algorithm.Method, out io.Writer,
) error {
	caps, err := service.Capabilities(ctx)
	if err != nil || caps.ExactEntropy {
		return err
	}
	if need := m.Needs(); need.Entropy || need.Centre {
		fmt.Fprintf(out, "note: this service does not compute entropies: advantage_fn %s takes an estimate from the "+
			"likeliest tokens, shown as actor/entropy_estimate_top20\n", cfg.Algorithm.AdvantageFn)
	}
	if m.Objective.Entropy.Coef != 0 {
		fmt.Fprintln(out, "note: this service does not compute entropies: the entropy term of the loss is an "+
			"estimate from the sampled tokens, -p·log p, shown as actor/entropy_loss_estimate")
	}
	return nil
}
