// Command assistant trains examples/assistant on all sentences, with a control, and evaluates each stage on all tests.
// Needs: the folder that examples/assistant/call.py makes, in -data; pip, for the model.
// Takes: an hour; every part continues, and the report is whole each time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	data := flag.String("data", "assistant-data", "the `folder` with train.jsonl and test.jsonl")
	flag.Parse()
	job.Main("assistant", func(ctx context.Context) error {
		folder, err := filepath.Abs(*data)
		if err != nil {
			return err
		}
		r, err := job.OpenReal(ctx, "bin/assistant", folder, "examples/assistant/assistant.yaml", "trinity-assistant")
		if err != nil {
			return err
		}
		return all(ctx, experiment{r})
	})
}

// tests is the number of sentences that no stage trains on.
const tests = 700

type experiment struct{ job.Real }

func all(ctx context.Context, x experiment) error {
	const once = "stages[0].buffer.total_epochs=1"
	for _, part := range []func() error{
		func() error { return x.evaluate(ctx, "base", "the model as it is") },
		func() error { return x.train(ctx, "all", run.Plugins{}, once) },
		func() error { return x.evaluate(ctx, "all/sft", "SFT on all sentences") },
		func() error { return x.evaluate(ctx, "all/grpo", "GRPO after SFT") },
		func() error { return x.Share("all", "sft", "control") },
		func() error { return x.train(ctx, "control", job.Shuffled(), once) },
		func() error { return x.evaluate(ctx, "control/grpo", "GRPO after SFT, advantages shuffled (control)") },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// train runs the stages of a job, or what is left of them.
func (x experiment) train(ctx context.Context, name string, plugins run.Plugins, overrides ...string) error {
	j := x.Job(name, overrides...)
	j.Options.Plugins = plugins
	if _, err := j.Run(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// evaluate prints what a job's last state answers to all tests.
func (x experiment) evaluate(ctx context.Context, name, what string) error {
	m, err := x.Evaluated(name)
	if err == nil && m == nil {
		args := []string{"mode=bench", "stages=[]"}
		if name != "base" {
			args = append(args, "explorer.bench_on_latest_checkpoint=true")
		}
		if _, err = x.Job(name, args...).Run(ctx); err == nil {
			m, err = x.Evaluated(name)
		}
	}
	if err != nil || m == nil {
		return errors.Join(err, fmt.Errorf("%s has no evaluation", name))
	}
	// The checker gives an eighth for valid JSON, an eighth for the function and a half for the call itself.
	share := func(key string, worth float64) string { return job.Interval(m["greedy/"+key+"/mean@1"]/worth, tests) }
	fmt.Printf("%s: valid JSON %s, right function %s, exact %s\n", what, share("valid", 0.125), share("name", 0.125),
		share("exact", 0.5))
	return nil
}
