package run

import (
	"os"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/gem"
)

// TestGemLearns is the proof on the engine that trinity gem teaches: 15 steps of a committed configuration. The
// experiment gem-learn has all games, with seeds and controls.
func TestGemLearns(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains for half a minute")
	}
	data, err := os.ReadFile("../examples/tiny/guess/easy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := gem.Pairs(data)
	if err != nil {
		t.Fatal(err)
	}
	_, lines := gemRuns(t, onEngine(), append(pairs, "max_steps=12", "eval_every=12", "eval_episodes=120",
		"output_dir="+t.TempDir(), "seed=1"))
	const key = "eval/game:GuessTheNumber-v0-easy/return"
	before, after := lines[0].Metrics[key], lines[len(lines)-1].Metrics[key]
	if before < .70 || before > .87 || after < .92 {
		t.Errorf("return %.3f → %.3f; wanted from 0.70 … 0.87 to at least 0.92", before, after)
	}
}
