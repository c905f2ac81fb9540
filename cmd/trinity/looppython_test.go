//go:build unix

package main

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// TestLoopPython measures steps of 96 tasks with 8 repetitions over a server whose calls take a second, with a native
// reward function and with one in Python, in turn. It is a benchmark with a limit: `make bench NAME=bench-python`.
func TestLoopPython(t *testing.T) {
	if !*loopBench {
		t.Skip("asked for by -loop")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	const steps, rounds, latency = 5, 2, time.Second
	p := buildProgram(t)
	f := newFar(t, "examples/tiny/model", "../../examples/tiny/model")
	taskset := "buffer.explorer_input.taskset."
	common := []string{"buffer.batch_size=96", taskset + "split=",
		taskset + "default_workflow_type=simple_workflow",
		taskset + "path=" + rows(t, "../../examples/tiny/data/train.jsonl", 96)}
	graded := map[string][]string{
		"math_reward": {taskset + "default_reward_fn_type=math_reward"},
		"brief_reward of examples/python": {taskset + "default_reward_fn_type=brief_reward",
			"--plugin-dir", "examples/python/plugins"},
	}
	names := []string{"math_reward", "brief_reward of examples/python"}
	took := map[string][]time.Duration{}
	run := func(name string, latency time.Duration, n int) {
		f.reset(latency, 0)
		p.run(t, f, "examples/tiny/gsm8k.yaml", slices.Concat(onlySteps(n), common, graded[name])...)
	}
	run(names[0], 0, 1) // the engine's answers are recorded
	for range rounds {
		for _, name := range names {
			run(name, latency, steps)
			took[name] = append(took[name], f.intervals(1)...)
		}
	}
	var middle []time.Duration
	for _, name := range names {
		slices.Sort(took[name])
		all := took[name]
		middle = append(middle, all[len(all)/2])
		t.Logf("a step of 96 × 8 with %s: %.3f s (%.3f to %.3f, %d steps)", name, all[len(all)/2].Seconds(),
			all[0].Seconds(), all[len(all)-1].Seconds(), len(all))
	}
	more := float64(middle[1])/float64(middle[0]) - 1
	t.Logf("the reward in Python costs %.1f %% of a step at %v a model call", 100*more, latency)
	if more > .05 {
		t.Errorf("the reward in Python costs %.1f %% of a step, 5 %% are allowed", 100*more)
	}
}
