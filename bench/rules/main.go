// Command rules trains examples/rules with three seeds and a control.
// Needs: python3; pip, for the model.
// Takes: 40 minutes; every run continues, and the report is whole each time.
package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	job.Main("rules", func(ctx context.Context) error {
		data, err := filepath.Abs("examples/rules/data")
		if err != nil {
			return err
		}
		r, err := job.OpenReal(ctx, "bin/rules", data, "examples/rules/rules.yaml", "trinity-rules")
		if err != nil {
			return err
		}
		problems := []error{train(ctx, r, 1, "seed", run.Plugins{}), train(ctx, r, 1, "control", job.Shuffled())}
		for seed := 2; seed <= 3; seed++ {
			problems = append(problems, train(ctx, r, seed, "seed", run.Plugins{}))
		}
		return errors.Join(problems...)
	})
}

// tests is the number of requests that no run trains on.
const tests = 250

// train runs a job, or what is left of it, and prints how many requests its evaluations answer by their rule.
func train(ctx context.Context, r job.Real, seed int, what string, plugins run.Plugins) error {
	name := what + strconv.Itoa(seed)
	j := r.Job(name, "seed="+strconv.Itoa(seed))
	j.Options.Plugins = plugins
	if _, err := j.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	lines, err := r.Lines(name)
	if err != nil {
		return err
	}
	if _, err := job.Exact(lines); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	first, last, seconds := 0.0, 0.0, 0.0
	for _, l := range lines {
		seconds += l.Metrics["time/step"]
		kept, ok := l.Metrics["eval/greedy/kept/mean@1"]
		if !ok {
			continue
		}
		last = kept / 0.8 // what the checker gives for a rule that is kept
		if l.Step == 0 {
			first = last
		}
		fmt.Printf("%s, step %d: %s of %d rules kept, greedy\n", name, l.Step, job.Interval(last, tests), tests)
	}
	fmt.Printf("%s: %.0f minutes of steps\n", name, seconds/60)
	if gain := last - first; what == "seed" && gain < 0.5 || what == "control" && gain > 0.1 {
		return fmt.Errorf("%s: the share of kept rules went from %.3f to %.3f", name, first, last)
	}
	return nil
}
