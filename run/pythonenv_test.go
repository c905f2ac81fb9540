package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

const threes = "env_id=python:examples/python-env/threes.py:Threes"

// withPython3 are options that find the examples.
func withPython3(t testing.TB) Options {
	t.Helper()
	pythontest.Needed(t)
	o := playing()
	o.Find = func(path string) string {
		if strings.HasPrefix(path, "examples/") {
			return filepath.Join("..", path)
		}
		return path
	}
	return o
}

// trinity gem plays an environment in Python exactly on policy, and twice the same; groups begin in one state.
func TestGemPython(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"reinforce", "grpo"} {
		o := withPython3(t)
		pairs := short(t.TempDir(), threes, "method="+method, "group_size=4")
		dir, lines := gemRuns(t, o, pairs)
		for i, l := range lines[:3] {
			if v, ok := l.Metrics["train/kl_sample_train_v2"]; v != 0 || !ok {
				t.Errorf("%s, step %d: sampler and trainer differ by %v (%v)", method, i, v, ok)
			}
			if v := l.Metrics["sampler/num_turns_per_episode"]; v < 1 || v > 3 {
				t.Errorf("%s, step %d: %v turns an episode", method, i, v)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "log", "python.log")); err != nil {
			t.Error(err)
		}
		if method == "grpo" { // which forks episodes
			_, again := gemRuns(t, o, short(t.TempDir(), threes, "method="+method, "group_size=4"))
			same(t, "the same again", again, lines)
		}
	}
}

// gem_workflow of trinity run plays it too, with several turns and no gap between sampler and trainer.
func TestGemWorkflowPython(t *testing.T) {
	t.Parallel()
	o := withPython3(t)
	cfg, err := config.Load("../examples/tiny/guess/workflow.yaml", []string{"checkpoint_root_dir=" + t.TempDir(),
		"buffer.batch_size=4", "algorithm.repeat_times=4", "buffer.total_steps=2", "trainer.total_steps=2",
		"explorer.eval_on_startup=false", "explorer.eval_interval=100",
		"buffer.explorer_input.taskset.workflow_args.max_turns=3",
		"buffer.explorer_input.taskset.workflow_args." + threes}, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	lines := runs(t, cfg, o)
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each step", len(lines))
	}
	for _, l := range lines {
		if v, ok := l.Metrics["train/kl_sample_train_v2"]; v != 0 || !ok {
			t.Errorf("step %d: sampler and trainer differ by %v (%v)", l.Step, v, ok)
		}
		if v := l.Metrics["rollout/num_turns/mean"]; v <= 1 || v > 3 {
			t.Errorf("step %d: %v turns an episode", l.Step, v)
		}
	}
}

// An environment that fails whenever it is played ends the run with what Python says.
func TestGemPythonFails(t *testing.T) {
	t.Parallel()
	o := withPython3(t)
	for id, want := range map[string]string{
		"python:examples/python-env/threes.py:Three": "has no Three; its classes are: Threes",
		"python:nowhere.py:X":                        "there is no file",
	} {
		err := Gem(t.Context(), short(t.TempDir(), "env_id="+id), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", id, err, want)
		}
	}
}
