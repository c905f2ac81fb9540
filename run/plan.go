package run

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// printPlan says what is about to happen, before anything long begins.
func (l *loops) printPlan() {
	c := l.Config
	fmt.Fprintf(l.Out, "job      %s\nseed     %d\n", l.Dir.Path, int64(l.ID.Seed))
	switch c.Mode {
	case config.Bench, config.Serve:
		return
	case config.Explore:
		fmt.Fprintf(l.Out, "plan     explore %d steps of %d tasks × %d samples for a trainer in another process\n",
			l.exploring.steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes)
		if l.exploring.first > 1 {
			fmt.Fprintf(l.Out, "resume   with explore step %d\n", l.exploring.first)
		}
		return
	case config.ServeTrain:
		fmt.Fprintf(l.Out, "plan     %s: steps of %d experiences that are committed\n", c.Algorithm.Type,
			c.Buffer.TrainBatchSize)
	case config.Train:
		fmt.Fprintf(l.Out, "plan     %s: %d steps of %d examples\n", c.Algorithm.Type, l.training.steps,
			c.Buffer.TrainBatchSize)
	default:
		fmt.Fprintf(l.Out, "plan     %s: %d steps, each %d tasks × %d samples, at most %s tokens; the time left "+
			"is shown from the second step on\n",
			c.Algorithm.Type, l.training.steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes, mostTokensOf(c))
	}
	l.printPlace()
}

// mostTokensOf is how many tokens an explore step has at most, for a person.
func mostTokensOf(c *config.Config) string {
	m := c.Model
	if m.MaxResponseTokens == nil || m.MaxPromptTokens == nil {
		return "?"
	}
	return strconv.Itoa(plan.ExploreSamples(c) * (*m.MaxResponseTokens + *m.MaxPromptTokens))
}

// printPlace says where the trainer continues.
func (l *loops) printPlace() {
	step := l.training.trainer.Step()
	l.Progress.Start(l.training.steps, "job", l.Dir.Path, "seed", int64(l.ID.Seed), "steps", l.training.steps,
		"after", step)
	if done := plan.Complete(l.Config, step, l.training.steps); done != "" {
		fmt.Fprintln(l.Out, "done    ", done)
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
	fmt.Fprintf(l.Out, "resume   after step %d%s\n", step, again)
}

// forecast says how long the run will take, where that can be measured.
func (l *loops) forecast(ctx context.Context) (string, error) {
	e := l.Engine
	if l.training.trainer == nil || e == nil || l.Config.Model.RandomInit || !l.Config.Mode.Explores() {
		return "", nil
	}
	return l.inspected.Forecast(ctx, e, l.training.steps-l.training.trainer.Step())
}

// noteEntropies says what a service without exact entropies makes of an algorithm that reads them.
func noteEntropies(ctx context.Context, j *job.Job) error {
	caps, err := j.API.Capabilities(ctx)
	if err != nil || caps.ExactEntropy {
		return err
	}
	if need := j.Method.Needs(); need.Entropy || need.Centre {
		fmt.Fprintf(j.Out, "note: this service does not compute entropies: advantage_fn %s takes an estimate from the "+
			"likeliest tokens, shown as actor/entropy_estimate_top20\n", j.Config.Algorithm.AdvantageFn)
	}
	if j.Method.Objective.Entropy.Coef != 0 {
		fmt.Fprintln(j.Out, "note: this service does not compute entropies: the entropy term of the loss is an "+
			"estimate from the sampled tokens, -p·log p, shown as actor/entropy_loss_estimate")
	}
	return nil
}
