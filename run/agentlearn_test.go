package run

import (
	"bytes"
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

var agentsFull = flag.Bool("agents.full", false, "TestAgentLearns: train on the example agent with seed 1, and with "+
	"shuffled advantages")

// TestAgentLearns: what the example agent rewards is learned; with advantages shuffled within each group it is not.
func TestAgentLearns(t *testing.T) {
	if !*agentsFull {
		t.Skip("takes minutes: make learn-agents")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	solve, err := filepath.Abs("../examples/agent/solve.py")
	if err != nil {
		t.Fatal(err)
	}
	args := "{command: [python3, " + solve + "], timeout: 120, max_tokens: 400}"
	learnCarried(t, "agent", "accuracy", "../examples/agent/started.yaml", args, Python{})
}

// learnCarried trains 20 steps with seed 1, and 20 with shuffled advantages with seeds 1, 2 and 3, and holds that the
// first learns and the others do not. Shuffled advantages walk at random: one alone may go either way, their mean not.
// accuracy is the metric's name.
func learnCarried(t *testing.T, what, accuracy, file, args string, p Python, more ...string) {
	t.Helper()
	learn := func(t *testing.T, what string, seed int, score func(algorithm.Advantage) algorithm.Advantage) float64 {
		var out bytes.Buffer
		o := options()
		o.Out, o.Python, o.score = &out, p, score
		cfg, err := config.Load(file, append([]string{"checkpoint_root_dir=" + t.TempDir(),
			"seed=" + strconv.Itoa(seed),
			"buffer.total_steps=20", "trainer.total_steps=20", "explorer.eval_interval=20",
			tasksetKey + "workflow_args=" + args, "buffer.explorer_input.eval_tasksets[0].workflow_args=" + args,
			"buffer.explorer_input.eval_tasksets[0].repeat_times=1"}, more...), noEnv)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := Run(t.Context(), cfg, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		gapIsNone(t, sum.Lines)
		before, after := ends(t, sum, "eval/held-out/"+accuracy+"/mean@1")
		trained := "rollout/" + accuracy + "/mean"
		t.Logf("%s, seed %d: training accuracy %.3f → %.3f (steps 1–5 and 16–20), held out %.3f → %.3f, gap 0", what,
			seed, sum.Mean(trained, 1, 5), sum.Mean(trained, 16, 20), before, after)
		return after - before
	}
	t.Run("learns", func(t *testing.T) {
		if rise := learn(t, what, 1, nil); rise < 0.2 {
			t.Errorf("%s: held-out accuracy rises by %.3f", what, rise)
		}
	})
	control := func(a algorithm.Advantage) algorithm.Advantage { return shuffled{a} }
	rise, runs := 0.0, 0
	for seed := 1; seed <= 3; seed++ {
		t.Run("shuffled"+strconv.Itoa(seed), func(t *testing.T) {
			rise += learn(t, what+", advantages shuffled", seed, control)
			runs++
		})
	}
	if runs == 3 && rise/3 > 0.08 {
		t.Errorf("%s: with shuffled advantages held-out accuracy rises by %.3f in the mean", what, rise/3)
	}
}
