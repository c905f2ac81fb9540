package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// predictedSteps are the steps of SFT that are measured, after one that finds its memory.
const predictedSteps = 10

// TestRealPredicted compares the rate that trinity validate predicts for the example's first stage, before and after
// it, with that of its steps.
func TestRealPredicted(t *testing.T) {
	if *realModel == "" || *realData == "" || *realDir == "" {
		t.Skip("trains a real model for minutes: make predicted")
	}
	r := realRun{T: t}
	if err := os.RemoveAll(r.folder("predicted")); err != nil {
		t.Fatal(err)
	}
	before := r.predicted("predicted")
	r.runTo(1+predictedSteps, "predicted/sft", r.config("predicted"))
	after := r.predicted("predicted")
	var rates []float64
	for _, line := range r.lines("predicted/sft") {
		if line.Step > 1 {
			rates = append(rates, line.Metrics["perf/train_tokens_per_second"])
		}
	}
	slices.Sort(rates)
	median := rates[len(rates)/2]
	t.Logf("steps of SFT: median %.0f tokens/s of %d steps (%.0f to %.0f); predicted %.0f (%+.0f %%) before and %.0f "+
		"(%+.0f %%) after", median, len(rates), rates[0], rates[len(rates)-1], before, 100*(before/median-1), after,
		100*(after/median-1))
}

// predicted is the rate of training in tokens per second that trinity validate predicts for a job's first stage.
func (r realRun) predicted(name string) float64 {
	r.Helper()
	o := options()
	o.Cache = filepath.Join(*realDir, "cache")
	in, err := Inspect(r.Context(), r.config(name), o)
	if err != nil {
		r.Fatal(err)
	}
	defer in.Close()
	b, err := in.Parts()[0].Estimate(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return b.Rates.Trained
}
