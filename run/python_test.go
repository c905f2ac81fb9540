package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

// pythonIn are options with the plug-in files of a folder of rl/plugin/testdata.
func pythonIn(t testing.TB, folder string) Options {
	t.Helper()
	pythontest.Needed(t)
	dir, err := filepath.Abs(filepath.Join("../rl/plugin/testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Python = Python{Dirs: []string{dir}, Path: []string{filepath.Join(filepath.Dir(dir), "stand_in")}}
	return o
}

// loadPython loads the example with what plug-in files bring.
func loadPython(t testing.TB, dir string, o Options, overrides ...string) *config.Config {
	t.Helper()
	cfg, err := config.Load("../examples/tiny/gsm8k.yaml", append([]string{"checkpoint_root_dir=" + dir},
		overrides...), noEnv, o.Python.Names())
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const tasksetKey = "buffer.explorer_input.taskset."

// gapIsNone holds that what was trained has the logprobs that it was sampled with, to the last bit.
func gapIsNone(t testing.TB, lines []monitor.Line) {
	t.Helper()
	measured := 0
	for _, l := range lines {
		v, ok := l.Metrics["train/kl_sample_train_v1"]
		if ok {
			measured++
		}
		if v != 0 {
			t.Errorf("step %d: the gap between sampler and trainer is %v", l.Step, v)
		}
	}
	if measured == 0 {
		t.Errorf("no step of %d measured the gap between sampler and trainer", len(lines))
	}
}

// rowsOf is a taskset whose rows name the workflow and the reward function of a task each, and a batch of all rows.
func rowsOf(t testing.TB, ways [][2]string) []string {
	t.Helper()
	path, text := filepath.Join(t.TempDir(), "rows.jsonl"), ""
	for i, w := range ways {
		text += fmt.Sprintf(`{"question": "What is %d + 2?", "answer": "#### %d", "workflow": %q, "reward": %q}`+"\n",
			i, i+2, w[0], w[1])
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{fmt.Sprint("buffer.batch_size=", len(ways)), "buffer.explorer_input.taskset={name: rows, path: " +
		path + ", default_workflow_type: math_workflow, format: {prompt_key: question, response_key: answer, " +
		"workflow_key: workflow, reward_fn_key: reward}}"}
}

// Every base class runs unchanged and exactly on-policy, and gives the same bits in two processes of Python.
func TestPythonWorkflows(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	args := and(and(tiny, rowsOf(t, [][2]string{{"own_simple", "math_and_length"}, {"own_async_simple", "digit_reward"},
		{"own_math"}, {"own_boxed", "boxed_tokens"}, {"bare"}, {"turns"}, {"edited_turns"}, {"judged"}, {"gathered"},
		{"by_hand"}, {"step_wise"}, {"propagated"}, {"async_propagated"}, {"with_openai"}, {"streamed"}, {"recorded"},
		{"executes"}})...), "buffer.total_steps=2", "trainer.total_steps=1",
		"buffer.train_batch_size=55",
		"explorer.auxiliary_models=[{model_path: examples/tiny/model, max_response_tokens: 8}]")
	first := runs(t, loadPython(t, t.TempDir(), o, args...), o)
	gapIsNone(t, first)
	m := first[0].Metrics
	if n := m["experience_pipeline/experience_count"]; m["rollout/failed_task_count"] != 0 || n != 55 {
		t.Errorf("%v experiences, %v tasks failed; want 55, all of which the first step trains", n,
			m["rollout/failed_task_count"])
	}
	same(t, "two processes", runs(t, loadPython(t, t.TempDir(), o, and(args, "explorer.python_processes=2")...), o),
		first)
}

// A run that is continued in the middle of what an explore step gave has the lines of one that was not.
func TestPythonLinesContinue(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	args := and(tiny, tasksetKey+"default_workflow_type=gathered", "buffer.train_batch_size=2")
	whole := runs(t, loadPython(t, t.TempDir(), o, args...), o)
	dir := t.TempDir()
	runs(t, loadPython(t, dir, o, append(args, "trainer.total_steps=1")...), o)
	same(t, "continued", runs(t, loadPython(t, dir, o, args...), o), whole)
	explored := 0
	for _, l := range whole {
		if _, ok := l.Metrics["rollout/finished_task_count"]; ok {
			explored++
		}
	}
	if explored == 0 || explored == len(whole) {
		t.Errorf("%d of %d lines have an explore step; want some that have none", explored, len(whole))
	}
}

// What workflows, rewards and operators measure are metrics of the run.
func TestPythonMetrics(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	args := and(and(tiny, steps(1)...), rowsOf(t, [][2]string{{"bare"}, {"turns"}, {"", "digit_reward"},
		{"", "plain_function"}})...)
	lines := runs(t, loadPython(t, t.TempDir(), o, and(args,
		operatorsOf("{name: judging}, {name: halve, args: {factor: 0.25}}"),
		"explorer.auxiliary_models=[{model_path: examples/tiny/model, max_response_tokens: 8}]")...), o)
	gapIsNone(t, lines)
	for _, want := range []string{"rollout/odd/mean", "rollout/turns/mean", "rollout/digits/mean", "rollout/score/mean",
		"experience_pipeline/judged", "experience_pipeline/halve_calls"} {
		if _, ok := lines[0].Metrics[want]; !ok {
			t.Errorf("%s is not there: %v", want, lines[0].Metrics.Keys())
		}
	}
}

// explorer.env_vars are variables of the processes of Python.
func TestPythonVariables(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	args := and(tiny, tasksetKey+"default_reward_fn_type=from_environment", "explorer.env_vars={OWN_REWARD: 0.75}")
	for _, l := range runs(t, loadPython(t, t.TempDir(), o, args...), o) {
		if got := l.Metrics["rollout/given/mean"]; got != 0.75 {
			t.Errorf("step %d: the reward is %v", l.Step, got)
		}
	}
}

// Operators and gigpo read what plug-in files put into an experience's info, which is no metric of the run.
func TestPythonInfo(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	var out bytes.Buffer
	o.Out = &out
	shaped := "{name: rate_quality}, {name: reward_shaping_mapper, args: {reward_shaping_configs: " +
		"[{stats_key: quality}, {stats_key: qualty}]}}"
	args := and(tiny, tasksetKey+"default_workflow_type=informed", operatorsOf(shaped), "buffer.total_steps=1",
		"trainer.total_steps=1", "algorithm.algorithm_type=gigpo")
	sum, err := Run(t.Context(), loadPython(t, t.TempDir(), o, args...), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if n := strings.Count(out.String(), `reward_shaping_mapper reads "qual`); n != 1 ||
		strings.Contains(out.String(), "env_state_hash") {
		t.Errorf("%d of one misspelt name were told of:\n%s", n, out.String())
	}
	m := sum.Lines[0].Metrics
	for name, want := range map[string]float64{"reward_diff/mean": 0.75, "gigpo/anchor_groups_total": 2,
		"gigpo/anchor_groups_size_gt1": 2} {
		if got := m["experience_pipeline/"+name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range m.Keys() {
		if strings.Contains(name, "info/") || strings.Contains(name, "step_reward") {
			t.Errorf("%s is a metric of the run", name)
		}
	}
}

// Reward functions of Python grade the answers of a workflow of this program, with their arguments.
func TestPythonReward(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	args := and(tiny, rowsOf(t, [][2]string{{"", "digit_reward"}, {"", "math_and_length"}, {"", "async_reward"}})...)
	first := runs(t, loadPython(t, t.TempDir(), o, args...), o)
	gapIsNone(t, first)
	heavy := runs(t, loadPython(t, t.TempDir(), o, and(tiny, tasksetKey+"default_reward_fn_type=digit_reward",
		tasksetKey+"reward_fn_args={weight: 100}")...), o)
	if v := heavy[1].Metrics["rollout/digits/max"]; v != 0 && v < 100 {
		t.Errorf("digits at weight 100 are %v", v)
	}
}

// The rows of a reader are tasks as those of a file are.
func TestPythonReader(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	lines := runs(t, loadPython(t, t.TempDir(), o, and(tiny, tasksetKey+"storage_type=counting",
		tasksetKey+"path=null")...), o)
	gapIsNone(t, lines)
	if len(lines) != 3 {
		t.Errorf("%d lines", len(lines))
	}
}

// A run that is cut off between two groups continues: no finished group runs again, and the metrics are the same bits.
func TestPythonContinues(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	dir := t.TempDir()
	args := func(notes string) []string {
		return and(tiny, tasksetKey+"default_workflow_type=one_by_one", tasksetKey+"workflow_args={notes: "+notes+"}",
			"buffer.batch_size=4", "explorer.runner_per_model=1")
	}
	whole := runs(t, loadPython(t, t.TempDir(), o, args(filepath.Join(dir, "whole"))...), o)
	gapIsNone(t, whole)
	root, notes := t.TempDir(), filepath.Join(dir, "cut")
	ctx, cancel := context.WithCancel(t.Context())
	cut, ended := o, make(chan error, 1)
	cut.Out = &bytes.Buffer{}
	go func() {
		_, err := Run(ctx, loadPython(t, root, cut, args(notes)...), cut)
		ended <- err
	}()
	eventually(t, "the second step has begun", func() bool { return linesIn(notes) >= 6 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("cut off: %v", err)
	}
	runs(t, loadPython(t, root, o, args(notes)...), o)
	lines, err := monitor.ReadLog(filepath.Join(root, "trinity-tiny", "gsm8k", "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the run that was cut off", timeless(lines), whole)
	if n := linesIn(notes); n > 12+1 { // 3 steps of 4 tasks, and what was under way when it was cut off
		t.Errorf("%d groups were begun", n)
	}
}

func linesIn(path string) int {
	text, _ := os.ReadFile(path)
	return strings.Count(string(text), "\n")
}

// What goes wrong in Python is a failed rollout that says why, and never a reward.
func TestPythonFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ways [][2]string
		args []string
		want []string
	}{
		"beside each other": {[][2]string{{"returns_nothing"}, {"returns_empty"}, {"returns_text"}, {"no_reward"},
			{"nan_reward"}, {"other_tokens"}, {"other_logprobs"}, {"raises"}, {"unrewarded"}, {"silent"},
			{"", "nan_part"}, {"", "raising_reward"}}, nil, []string{
			"returned nothing; it must return a list of experiences", "returned an empty list",
			"returned str as element 0 of its list", "it has no reward",
			"its reward is NaN; it must be a finite number",
			"its tokens are not those that were sampled", "its logprobs are not those that were sampled",
			"failing.py:71", "gave 2 of 2 recorded conversations no reward: call update_reward()",
			"recorded nothing: it or its agent must ask the model at self.base_url",
			`returned NaN as its part "accuracy"`, "RuntimeError: the grader is out"}},
		"dies": {[][2]string{{"dies"}}, nil, []string{"is lost"}},
		"slow": {[][2]string{{"", "slow_reward"}}, []string{"explorer.reward_timeout=1"},
			[]string{"no reward within 1s (explorer.reward_timeout)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := pythonIn(t, "failing")
			var out bytes.Buffer
			o.Out = &out
			dir := t.TempDir()
			args := and(and(tiny, "explorer.max_retry_times=0"), rowsOf(t, tt.ways)...)
			_, err := Run(t.Context(), loadPython(t, dir, o, and(args, tt.args...)...), o)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("all %d tasks failed", len(tt.ways))) {
				t.Errorf("the run ended with %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out.String())
				}
			}
			rewards, _ := filepath.Glob(filepath.Join(dir, "trinity-tiny/gsm8k/rollouts/*"))
			if len(rewards) != 0 {
				t.Errorf("there are rollouts: %v", rewards)
			}
		})
	}
}

// Names that are not known are answered with the nearest of the plug-in files, and with the files that do not load.
func TestPythonNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		folder string
		args   []string
		want   []string
	}{
		{"plugins", []string{tasksetKey + "default_workflow_type=own_simpel"}, []string{"did you mean own_simple?"}},
		{"plugins", []string{tasksetKey + "default_reward_fn_type=digit_rewart"},
			[]string{"did you mean digit_reward?"}},
		{"broken", []string{tasksetKey + "default_workflow_type=absent_workflow"}, []string{
			"imports.py:3: ModuleNotFoundError: No module named 'no_such_package_anywhere'; install it",
			"syntax.py:1: SyntaxError",
			"absent.py:2: ImportError: trinity.common.workflows.envs is not part of the package trinity"}},
		{"failing", []string{tasksetKey + "default_workflow_type=no_class"}, []string{"it is no class with run()"}},
	} {
		o := pythonIn(t, tt.folder)
		in, err := Inspect(t.Context(), loadPython(t, t.TempDir(), o, and(tiny, tt.args...)...), o)
		if err == nil {
			in.Close()
		}
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant %q", err, want)
			}
		}
	}
	o := pythonIn(t, "broken")
	args := and(and(tiny, steps(1)...), tasksetKey+"default_workflow_type=good_workflow")
	gapIsNone(t, runs(t, loadPython(t, t.TempDir(), o, args...), o))
}

// A loss in torch is refused by name, with what to do instead.
func TestPythonLossIsRefused(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	_, err := config.Load("../examples/tiny/gsm8k.yaml", []string{"algorithm.policy_loss_fn=my_torch_loss"}, noEnv,
		Plugins{}.Names(), o.Python.Names())
	const want = "losses.py:6 registers cannot be used: losses, advantages and sample strategies are computed by this"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}

func TestNoPython(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	o.Python.Executable = "no-such-python3"
	_, err := Run(t.Context(), loadPython(t, t.TempDir(), o, tiny...), o)
	if err == nil || !strings.Contains(err.Error(), "--python") {
		t.Errorf("%v; want what to install and the flag --python", err)
	}
	o = options()
	o.Python.Dirs = []string{"no/such/folder"}
	_, err = Run(t.Context(), load(t, t.TempDir(), tiny...), o)
	if err == nil || !strings.Contains(err.Error(), "the plug-in folder no/such/folder is not there") {
		t.Errorf("%v; want the folder that is missing", err)
	}
}

// debug shows what was said before a workflow failed, and where it did.
func TestPythonDebug(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "failing")
	var out bytes.Buffer
	o.Out = &out
	err := Debug(t.Context(), loadPython(t, t.TempDir(), o, and(tiny, tasksetKey+"default_workflow_type=raises")...), o,
		filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), "KeyError") {
		t.Errorf("debug of a workflow that fails: %v", err)
	}
	for _, want := range []string{"prompt\n", "answer\n", "Traceback (most recent call last)", "in helper"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
