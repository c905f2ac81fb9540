package run

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// sayPlan says what is about to happen, before anything long begins.
func (l *loops) sayPlan(b *job) {
	c := b.cfg
	fmt.Fprintf(b.Out, "job      %s\nseed     %d\n", b.dir, int64(b.identity.Seed))
	switch c.Mode {
	case config.Bench, config.Serve:
		return
	case config.Explore:
		fmt.Fprintf(b.Out, "plan     explore %d steps of %d tasks × %d samples for a trainer in another process\n",
			l.exploring.steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes)
		if l.exploring.first > 1 {
			fmt.Fprintf(b.Out, "resume   with explore step %d\n", l.exploring.first)
		}
		return
	case config.ServeTrain:
		fmt.Fprintf(b.Out, "plan     %s: steps of %d experiences that are committed\n", c.Algorithm.Type,
			c.Buffer.TrainBatchSize)
	case config.Train:
		fmt.Fprintf(b.Out, "plan     %s: %d steps of %d examples\n", c.Algorithm.Type, l.training.steps,
			c.Buffer.TrainBatchSize)
	default:
		fmt.Fprintf(b.Out, "plan     %s: %d steps, each %d tasks × %d samples, at most %s tokens; the time left "+
			"is shown from the second step on\n",
			c.Algorithm.Type, l.training.steps, c.Buffer.BatchSize, c.Algorithm.RepeatTimes, mostTokensOf(c))
	}
	l.sayWhere(b)
}

// mostTokensOf is how many tokens an explore step has at most, for a person.
func mostTokensOf(c *config.Config) string {
	m := c.Model
	if m.MaxResponseTokens == nil || m.MaxPromptTokens == nil {
		return "?"
	}
	return strconv.Itoa(samplesOf(c) * (*m.MaxResponseTokens + *m.MaxPromptTokens))
}

// sayWhere says where the trainer continues.
func (l *loops) sayWhere(b *job) {
	step := l.training.trainer.Step()
	b.progress.Start(l.training.steps, "job", b.dir, "seed", int64(b.identity.Seed), "steps", l.training.steps,
		"behind", step)
	if done := complete(b.cfg, step, l.training.steps); done != "" {
		fmt.Fprintln(b.Out, "done    ", done)
		return
	}
	if step == 0 && l.resumed.lost == 0 {
		return
	}
	again := ""
	if l.resumed.lost > 0 {
		again = fmt.Sprintf(", the last state that was saved; up to step %d training repeats, on the samples "+
			"there are", step+l.resumed.lost)
	}
	fmt.Fprintf(b.Out, "resume   behind step %d%s\n", step, again)
}

// forecast says how long the run will take, where that can be measured.
func (l *loops) forecast(ctx context.Context, b *job) (string, error) {
	if l.training.trainer == nil {
		return "", nil
	}
	return b.forecast(ctx, l.training.steps-l.training.trainer.Step())
}

// pauseText says why requests to the server are held up, or that they are no longer.
func pauseText(p client.Pause) string {
	text := "the server goes on"
	switch p.State {
	case client.Capacity:
		text = "waiting: the server has no room now"
	case client.RateLimited:
		text = "waiting: the server says that these are too many requests"
	case client.Billing:
		text = "waiting: the account's billing must be put in order"
	case client.Unreachable:
		text = "waiting for the server"
	}
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}
