// Command python-learn trains the shipped model on the example reward function in Python.
// Needs: python3.
// Takes: about nine minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	steps := flag.Int("steps", 20, "steps of each run; the bounds are for 20")
	flag.Parse()
	job.Main("python-learn", func(ctx context.Context) error {
		var problems []error
		for seed := 1; seed <= 3; seed++ {
			rise, err := train(ctx, "reward", seed, *steps, run.Plugins{})
			if err == nil && rise < 0.3 {
				err = fmt.Errorf("seed %d: the held-out reward rises by %.3f, want at least 0.3", seed, rise)
			}
			problems = append(problems, err)
		}
		rise, err := train(ctx, "shuffled", 1, *steps, job.Shuffled())
		if err == nil && rise > 0.1 {
			err = fmt.Errorf("with shuffled advantages the held-out reward rises by %.3f, want at most 0.1", rise)
		}
		return errors.Join(append(problems, err)...)
	})
}

// train trains examples/python and returns by how much the held-out reward rises.
func train(ctx context.Context, what string, seed, steps int, plugins run.Plugins) (rise float64, err error) {
	dir, err := filepath.Abs("examples/python/plugins")
	if err != nil {
		return 0, err
	}
	n := strconv.Itoa(steps)
	sum, err := job.Job{File: "examples/python/brief.yaml",
		Options: run.Options{Plugins: plugins, Python: run.Python{Dirs: []string{dir}}},
		Overrides: []string{"seed=" + strconv.Itoa(seed), "buffer.total_steps=" + n, "trainer.total_steps=" + n,
			"explorer.eval_interval=" + n}}.Run(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := job.Exact(sum.Lines); err != nil {
		return 0, err
	}
	before, after, err := job.Ends(sum, "eval/held-out/reward/mean@4")
	const right = "rollout/right/mean"
	fmt.Printf("%s, seed %d: training reward %.3f → %.3f (first and last 5 steps), right %.3f → %.3f, held-out reward "+
		"%.3f → %.3f\n", what, seed, sum.Mean(job.Reward, 1, 5), sum.Mean(job.Reward, steps-4, steps),
		sum.Mean(right, 1, 5), sum.Mean(right, steps-4, steps), before, after)
	return after - before, err
}
