// Command learn proves that the tiny example learns: three seeds in both orders of sums, the base model, and a control.
// ARGS='-model examples/tiny/qwen35' does it for another model.
// Needs: nothing but Go.
// Takes: about six minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	steps := flag.Int("steps", 50, "steps of each run; the bounds are for 50")
	model := flag.String("model", "", "train the model in this `folder`, in sequential order alone")
	flag.Parse()
	e, orders := example{*steps, nil}, []string{"blocked", "sequential"}
	controls := 1
	if *model != "" {
		e.overrides, orders, controls = []string{"model.model_path=" + *model}, orders[1:], 3
	}
	job.Main("learn", func(ctx context.Context) error {
		problems := []error{e.base(ctx)}
		for _, order := range orders {
			for seed := range 3 {
				problems = append(problems, e.learns(ctx, seed+1, order))
			}
		}
		return errors.Join(append(problems, e.control(ctx, controls))...)
	})
}

// An example is examples/tiny/gsm8k.yaml with other settings.
type example struct {
	steps     int
	overrides []string
}

func (e example) job(o run.Options, overrides ...string) job.Job {
	return job.Job{File: "examples/tiny/gsm8k.yaml", Options: o, Overrides: append(overrides, e.overrides...)}
}

// base reports what the base model can do: greedy, and one of eight.
func (e example) base(ctx context.Context) error {
	const held = "buffer.explorer_input.eval_tasksets[0]."
	for _, c := range []struct{ name, override string }{
		{"greedy", held + "rollout_args.temperature=0"},
		{"pass@8", held + "repeat_times=8"},
	} {
		sum, err := e.job(run.Options{}, c.override, "mode=bench", "seed=1").Run(ctx)
		if err != nil {
			return err
		}
		for _, key := range sum.Lines[0].Metrics.Keys() {
			if strings.Contains(key, "accuracy/mean@") || strings.Contains(key, "accuracy/best@8") {
				fmt.Printf("base, %s: %s = %.3f\n", c.name, key, sum.Lines[0].Metrics[key])
			}
		}
	}
	return nil
}

func (e example) learns(ctx context.Context, seed int, order string) error {
	sum, err := e.train(ctx, ", "+order, seed, run.Options{Order: order})
	if err != nil {
		return err
	}
	first, last := sum.Mean(job.Accuracy, 1, 1), sum.Mean(job.Accuracy, e.steps-9, e.steps)
	before, after, err := job.Ends(sum, job.HeldOut)
	if err == nil && (first > 0.5 || last < 0.8 || after-before < 0.3) {
		err = fmt.Errorf("seed %d: training accuracy %.3f → %.3f, held out %.3f → %.3f; wanted at most 0.50 → at "+
			"least 0.80, and 0.30 more", seed, first, last, before, after)
	}
	return err
}

// control trains with shuffled advantages. The accuracy may fall: steps in no direction do a model no good. It may rise
// in one run, as such steps can lead by chance to more reasoning, so the runs count together.
func (e example) control(ctx context.Context, runs int) error {
	gain := 0.0
	for seed := range runs {
		o := run.Options{Plugins: job.Shuffled(), Order: "sequential"}
		sum, err := e.train(ctx, ", advantages shuffled", seed+1, o)
		if err != nil {
			return err
		}
		before, after, err := job.Ends(sum, job.HeldOut)
		if err != nil {
			return err
		}
		gain += (after - before) / float64(runs)
	}
	most := 0.03
	if runs > 1 { // their directions are chance
		most = 0.2
	}
	if gain > most {
		return fmt.Errorf("with advantages shuffled inside each group held-out accuracy rose by %.3f in %d runs", gain,
			runs)
	}
	return nil
}

func (e example) train(ctx context.Context, what string, seed int, o run.Options) (*console.Summary, error) {
	n, steps := strconv.Itoa(e.steps), e.steps
	begin := time.Now()
	sum, err := e.job(o, "seed="+strconv.Itoa(seed), "buffer.total_steps="+n, "trainer.total_steps="+n).Run(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := job.Exact(sum.Lines); err != nil {
		return nil, err
	}
	before, after, err := job.Ends(sum, job.HeldOut)
	fmt.Printf("seed %d%s, %d steps in %.0f s: reward %.3f → %.3f, training accuracy %.3f → %.3f (first and last 10 "+
		"steps; step 1: %.3f), held out %s → %s, %.0f tokens/s sampled, %.0f trained\n",
		seed, what, steps, time.Since(begin).Seconds(),
		sum.Mean(job.Reward, 1, 10), sum.Mean(job.Reward, steps-9, steps),
		sum.Mean(job.Accuracy, 1, 10), sum.Mean(job.Accuracy, steps-9, steps), sum.Mean(job.Accuracy, 1, 1),
		job.Interval(before, job.HeldOutTasks), job.Interval(after, job.HeldOutTasks),
		sum.Mean("perf/sampled_tokens_per_second", 1, steps), sum.Mean("perf/train_tokens_per_second", 1, steps))
	return sum, err
}
