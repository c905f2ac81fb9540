package run

import (
	"bytes"
	"testing"
)

// The metrics that show whether a run learned.
const (
	rewardKey   = "critic/rewards/mean"
	accuracyKey = "rollout/accuracy/mean"
)

// TestLearn is the proof on the engine that a run learns. The experiment learn has seeds, a held-out set and a control.
func TestLearn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains for several seconds")
	}
	var out bytes.Buffer
	o := onEngine()
	o.Out = &out
	sum, err := Run(t.Context(), load(t, t.TempDir(), "seed=1", "buffer.total_steps=8", "trainer.total_steps=8",
		"explorer.eval_on_startup=false", "buffer.explorer_input.eval_tasksets=[]"), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if first, last := sum.Mean(accuracyKey, 1, 3), sum.Mean(accuracyKey, 6, 8); last < first+0.1 {
		t.Errorf("training accuracy went from %.3f (steps 1-3) to %.3f (steps 6-8)", first, last)
	}
}
