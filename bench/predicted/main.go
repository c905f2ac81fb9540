// Command predicted compares the rate of training that trinity validate predicts of a real model with its steps'.
// Needs: GSM8K, in the folder -data; pip, for the model.
// Takes: about a minute, on a quiet machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	data := flag.String("data", "bin/real/data/main", "the `folder` with GSM8K's train.jsonl and test.jsonl")
	steps := flag.Int("steps", 10, "how many steps of SFT are measured, after one that finds its memory")
	flag.Parse()
	job.Main("predicted", func(ctx context.Context) error { return compare(ctx, *data, *steps) })
}

// compare trains the first stage of the example. The prediction is asked for before and after.
func compare(ctx context.Context, data string, steps int) error {
	g, err := job.OpenGSM8K(ctx, data)
	if err == nil {
		err = os.RemoveAll(g.Folder("predicted"))
	}
	if err != nil {
		return err
	}
	j := g.Job("predicted")
	before, err := predicted(ctx, j)
	if err != nil {
		return err
	}
	if err := g.RunTo(ctx, 1+steps, "predicted/sft", j); err != nil {
		return err
	}
	after, err := predicted(ctx, j)
	if err != nil {
		return err
	}
	lines, err := g.Lines("predicted/sft")
	if err != nil {
		return err
	}
	var rates []float64
	for _, line := range lines {
		if line.Step > 1 {
			rates = append(rates, line.Metrics["perf/train_tokens_per_second"])
		}
	}
	slices.Sort(rates)
	median := rates[len(rates)/2]
	fmt.Printf("steps of SFT: median %.0f tokens/s of %d steps (%.0f to %.0f); predicted %.0f (%+.0f %%) before and "+
		"%.0f (%+.0f %%) after\n", median, len(rates), rates[0], rates[len(rates)-1], before, 100*(before/median-1),
		after, 100*(after/median-1))
	return nil
}

// predicted is the rate of training in tokens per second that trinity validate predicts for a job's first stage.
func predicted(ctx context.Context, j job.Job) (float64, error) {
	cfg, err := j.Load()
	if err != nil {
		return 0, err
	}
	in, err := run.Inspect(ctx, cfg, j.Options)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	b, err := in.Parts()[0].Estimate(ctx)
	if err != nil {
		return 0, err
	}
	return b.Rates.Trained, nil
}
