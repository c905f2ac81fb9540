// Command learn-agents trains the shipped model on the example agent, and on the example of verifiers.
// Needs: python3; for verifiers the Python that the experiment verifiers makes, or -verifiers.
// Takes: about forty minutes each.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	steps := flag.Int("steps", 20, "steps of each run; the bounds are for 20")
	python := flag.String("verifiers", "bin/verifiers/venv/bin/python", "a Python with verifiers; none: only the agent")
	flag.Parse()
	job.Main("learn-agents", func(ctx context.Context) error {
		err := agent(*steps).learn(ctx)
		if _, missing := os.Stat(*python); missing != nil {
			fmt.Printf("verifiers: not trained, there is no %s; the experiment verifiers makes it\n", *python)
			return err
		}
		return errors.Join(err, verifiers(*steps, *python).learn(ctx))
	})
}

// carried is an example whose rollouts another program carries out.
type carried struct {
	what, file   string
	accuracy     string // the metric
	train, tests string // the arguments of the workflow
	python       run.Python
	steps        int
}

func agent(steps int) carried {
	args := "{command: [python3, " + absolute("examples/agent/solve.py") + "], timeout: 120, max_tokens: 400}"
	return carried{what: "agent", file: "examples/agent/started.yaml", accuracy: "accuracy", train: args, tests: args,
		steps: steps}
}

func verifiers(steps int, python string) carried {
	args := func(split string) string {
		return "{dir: " + absolute("examples/verifiers") + ", taskset: {split: " + split +
			"}, timeout: 900, concurrency: 4}"
	}
	return carried{what: "verifiers", file: "examples/verifiers/sums.yaml", accuracy: "reward/accuracy",
		train: args("train"), tests: args("test"), python: run.Python{Executable: absolute(python)}, steps: steps}
}

// absolute is a path that a program in another folder finds.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// learn trains with seed 1, which must learn, and with shuffled advantages with seeds 1, 2 and 3. Shuffled advantages
// walk at random: one run alone may go either way, their mean may not.
func (c carried) learn(ctx context.Context) error {
	var problems []error
	if rise, err := c.run(ctx, 1, run.Plugins{}); err != nil {
		problems = append(problems, err)
	} else if rise < 0.2 {
		problems = append(problems, fmt.Errorf("%s: held-out accuracy rises by %.3f, want at least 0.2", c.what, rise))
	}
	control := c
	control.what += ", advantages shuffled"
	sum, runs := 0.0, 0
	for seed := 1; seed <= 3; seed++ {
		rise, err := control.run(ctx, seed, job.Shuffled())
		if err != nil {
			problems = append(problems, err)
			continue
		}
		sum, runs = sum+rise, runs+1
	}
	if runs == 3 && sum/3 > 0.08 {
		problems = append(problems, fmt.Errorf("%s: held-out accuracy rises by %.3f on average, want at most 0.08",
			control.what, sum/3))
	}
	return errors.Join(problems...)
}

// run returns by how much the held-out accuracy rises.
func (c carried) run(ctx context.Context, seed int, plugins run.Plugins) (rise float64, err error) {
	n := strconv.Itoa(c.steps)
	const held = "buffer.explorer_input.eval_tasksets[0]."
	sum, err := job.Job{File: c.file, Options: run.Options{Plugins: plugins, Python: c.python}, Overrides: []string{
		"seed=" + strconv.Itoa(seed), "buffer.total_steps=" + n, "trainer.total_steps=" + n,
		"explorer.eval_interval=" + n, "buffer.explorer_input.taskset.workflow_args=" + c.train,
		held + "workflow_args=" + c.tests, held + "repeat_times=1"}}.Run(ctx)
	if err != nil {
		return 0, fmt.Errorf("%s, seed %d: %w", c.what, seed, err)
	}
	if _, err := job.Exact(sum.Lines); err != nil {
		return 0, fmt.Errorf("%s, seed %d: %w", c.what, seed, err)
	}
	before, after, err := job.Ends(sum, "eval/held-out/"+c.accuracy+"/mean@1")
	trained := "rollout/" + c.accuracy + "/mean"
	fmt.Printf("%s, seed %d: training accuracy %.3f → %.3f (first and last 5 steps), held out %.3f → %.3f, gap 0\n",
		c.what, seed, sum.Mean(trained, 1, 5), sum.Mean(trained, c.steps-4, c.steps), before, after)
	return after - before, err
}
