package run

import (
	"bytes"
	"flag"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

var pythonFull = flag.Bool("python.full", false, "TestPythonLearns: train on the reward function in Python with "+
	"seeds 1, 2 and 3, and with shuffled advantages")

// TestPythonLearns: the example's reward function in Python is learned; with advantages shuffled within each group it
// is not.
func TestPythonLearns(t *testing.T) {
	t.Parallel()
	if !*pythonFull {
		t.Skip("takes minutes: make learn-python")
	}
	for seed := 1; seed <= 3; seed++ {
		if before, after := learnBrief(t, "reward", seed, nil); after-before < 0.3 {
			t.Errorf("seed %d: the held-out reward rises by %.3f", seed, after-before)
		}
	}
	control := func(a algorithm.Advantage) algorithm.Advantage { return shuffled{a} }
	if before, after := learnBrief(t, "shuffled", 1, control); after-before > 0.1 {
		t.Errorf("with shuffled advantages the held-out reward rises by %.3f", after-before)
	}
}

// learnBrief trains examples/python for 20 steps and returns the held-out reward before and after.
func learnBrief(t *testing.T, what string, seed int, score func(algorithm.Advantage) algorithm.Advantage,
) (before, after float64) {
	t.Helper()
	o := pythonIn(t, "plugins")
	dir, err := filepath.Abs("../examples/python/plugins")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o.Python.Dirs, o.Out, o.score = []string{dir}, &out, score
	cfg, err := config.Load("../examples/python/brief.yaml", []string{"checkpoint_root_dir=" + t.TempDir(),
		"seed=" + strconv.Itoa(seed), "buffer.total_steps=20", "trainer.total_steps=20", "explorer.eval_interval=20"},
		noEnv, o.Python.Names())
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Run(t.Context(), cfg, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	gapIsNone(t, sum.Lines)
	before, after = ends(t, sum, "eval/held-out/reward/mean@4")
	t.Logf("%s, seed %d: training reward %.3f → %.3f (steps 1–5 and 16–20), right %.3f → %.3f, held-out reward "+
		"%.3f → %.3f", what, seed, sum.Mean(rewardKey, 1, 5), sum.Mean(rewardKey, 16, 20),
		sum.Mean("rollout/right/mean", 1, 5), sum.Mean("rollout/right/mean", 16, 20), before, after)
	return before, after
}

// ends are the first and the last value of an evaluation.
func ends(t *testing.T, sum *console.Summary, key string) (before, after float64) {
	t.Helper()
	before, after, ok := sum.Ends(key)
	if !ok {
		t.Fatalf("no %s in the metrics, but %v", key, sum.Lines[len(sum.Lines)-1].Metrics.Keys())
	}
	return before, after
}
