package run

import (
	"os"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/gem"
)

// TestGemLearns is the proof on the engine that trinity gem teaches: 6 steps of a committed configuration. The
// experiment gem-learn has all games, with seeds and controls.
func TestGemLearns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains for several seconds")
	}
	data, err := os.ReadFile("../examples/tiny/guess/easy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := gem.Pairs(data)
	if err != nil {
		t.Fatal(err)
	}
	o := onEngine()
	o.Order = "blocked" // the same numbers on every processor
	_, lines := gemRuns(t, o, append(pairs, "max_steps=6", "batch_size=64", "eval_every=6", "eval_episodes=80",
		"output_dir="+t.TempDir(), "seed=1"))
	for _, l := range lines[:6] {
		if v, ok := l.Metrics["train/kl_sample_train_v2"]; v != 0 || !ok {
			t.Errorf("step %d: sampler and trainer differ by %v (%v)", l.Step, v, ok)
		}
	}
	const key = "eval/game:GuessTheNumber-v0-easy/return"
	before, after := lines[0].Metrics[key], lines[len(lines)-1].Metrics[key]
	if before < .70 || before > .87 || after < .88 {
		t.Errorf("return %.3f → %.3f; wanted from 0.70 … 0.87 to at least 0.88", before, after)
	}
}
