package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// pythonIn are options with the plug-in files of a folder of rl/plugin/testdata.
func pythonIn(t testing.TB, folder string) Options {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
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

// several are workflows that give several experiences a run.
var several = map[string]bool{"gathered": true, "by_hand": true, "step_wise": true, "propagated": true,
	"async_propagated": true, "with_openai": true, "streamed": true, "recorded": true, "executes": true}

// ways are workflows that call the model in every way there is.
var ways = []string{"own_simple", "own_async_simple", "turns", "propagated", "with_openai", "judged", "recorded"}

// Every base class runs unchanged and exactly on-policy. In two processes it gives the same bits, whichever way it
// calls the model.
func TestPythonWorkflows(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{
		"own_simple":       {tasksetKey + "default_reward_fn_type=math_and_length"},
		"own_async_simple": {tasksetKey + "default_reward_fn_type=digit_reward"},
		"own_math":         nil,
		"own_boxed":        {tasksetKey + "default_reward_fn_type=boxed_tokens"},
		"bare":             nil,
		"turns":            {"buffer.batch_size=1"},
		"edited_turns":     nil,
		"gathered":         nil,
		"by_hand":          nil,
		"step_wise":        nil,
		"propagated":       nil,
		"async_propagated": nil,
		"with_openai":      nil,
		"streamed":         nil,
		"recorded":         {"buffer.batch_size=1"},
		"executes":         nil,
		"judged":           {"explorer.auxiliary_models=[{model_path: examples/tiny/model, max_response_tokens: 8}]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(ways, name) {
				unraced(t, "another class that calls the model in the same way")
			}
			o := pythonIn(t, "plugins")
			args := and(tiny, append([]string{tasksetKey + "default_workflow_type=" + name, "buffer.total_steps=2",
				"trainer.total_steps=2"}, more...)...)
			first := runs(t, loadPython(t, t.TempDir(), o, args...), o)
			exact := first
			if several[name] { // the second step trains what is left of the first
				exact = first[:1]
			}
			gapIsNone(t, exact)
			if len(first) < 2 || exact[len(exact)-1].Metrics["rollout/finished_task_count"] == 0 {
				t.Fatalf("%d lines, and %v", len(first), first)
			}
			if slices.Contains(ways, name) {
				args = append(args, "explorer.python_processes=2")
				same(t, name, runs(t, loadPython(t, t.TempDir(), o, args...), o), first)
			}
		})
	}
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

// What workflows and rewards measure are metrics of the run.
func TestPythonMetrics(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	for want, args := range map[string][]string{
		"rollout/odd/mean":    {tasksetKey + "default_workflow_type=bare"},
		"rollout/turns/mean":  {tasksetKey + "default_workflow_type=turns"},
		"rollout/digits/mean": {tasksetKey + "default_reward_fn_type=digit_reward"},
		"rollout/score/mean":  {tasksetKey + "default_reward_fn_type=plain_function"},
		"experience_pipeline/judged": {operatorsOf("{name: judging}"), tasksetKey + "default_workflow_type=turns",
			"explorer.auxiliary_models=[{model_path: examples/tiny/model, max_response_tokens: 8}]"},
		"experience_pipeline/halve_calls": {operatorsOf("{name: halve, args: {factor: 0.25}}"),
			tasksetKey + "default_reward_fn_type=digit_reward"},
	} {
		if testing.Short() && !strings.HasPrefix(want, "experience_pipeline/") {
			continue // TestPythonWorkflows and TestPythonReward run the same goroutines
		}
		lines := runs(t, loadPython(t, t.TempDir(), o, and(tiny, args...)...), o)
		gapIsNone(t, lines)
		if _, ok := lines[1].Metrics[want]; !ok {
			t.Errorf("%s is not there: %v", want, lines[1].Metrics.Keys())
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

// A reward function of Python grades the answers of a workflow of this program, with its arguments.
func TestPythonReward(t *testing.T) {
	t.Parallel()
	o := pythonIn(t, "plugins")
	for _, name := range []string{"digit_reward", "math_and_length", "async_reward"} {
		args := and(tiny, tasksetKey+"default_reward_fn_type="+name)
		first := runs(t, loadPython(t, t.TempDir(), o, args...), o)
		gapIsNone(t, first)
		same(t, name, runs(t, loadPython(t, t.TempDir(), o, args...), o), first)
	}
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
	for _, after := range []int{2, 7} {
		ctx, cancel := context.WithCancel(t.Context())
		cut, ended := o, make(chan error, 1)
		cut.Out = &bytes.Buffer{}
		go func() {
			_, err := Run(ctx, loadPython(t, root, cut, args(notes)...), cut)
			ended <- err
		}()
		eventually(t, fmt.Sprintf("%d groups have begun", after), func() bool { return linesIn(notes) >= after })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("cut off after %d groups: %v", after, err)
		}
	}
	runs(t, loadPython(t, root, o, args(notes)...), o)
	lines, err := monitor.ReadLog(filepath.Join(root, "trinity-tiny", "gsm8k", "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the run that was cut off twice", timeless(lines), whole)
	if n := linesIn(notes); n > 12+2 { // 3 steps of 4 tasks, and what was under way when it was cut off
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
	for name, want := range map[string]string{
		"returns_nothing": "returned nothing; it must return a list of experiences",
		"returns_empty":   "returned an empty list",
		"returns_text":    "returned str as element 0 of its list",
		"no_reward":       "it has no reward",
		"nan_reward":      "its reward is NaN; it must be a finite number",
		"other_tokens":    "its tokens are not those that were sampled",
		"other_logprobs":  "its logprobs are not those that were sampled",
		"raises":          "failing.py:71",
		"unrewarded":      "gave 2 of 2 recorded conversations no reward: call update_reward()",
		"silent":          "recorded nothing: it or its agent must ask the model at self.base_url",
		"dies":            "is lost",
		"nan_part":        `returned NaN as its part "accuracy"`,
		"raising_reward":  "RuntimeError: the grader is out",
		"slow_reward":     "no reward within 1s (explorer.reward_timeout)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := pythonIn(t, "failing")
			var out bytes.Buffer
			o.Out = &out
			key := "default_workflow_type="
			if strings.HasSuffix(name, "reward") && name != "no_reward" && name != "nan_reward" || name == "nan_part" {
				key = "default_reward_fn_type="
			}
			dir := t.TempDir()
			_, err := Run(t.Context(), loadPython(t, dir, o, and(tiny, tasksetKey+key+name, "explorer.reward_timeout=1",
				"explorer.max_retry_times=0")...), o)
			if err == nil || !strings.Contains(err.Error(), "all 2 tasks failed") {
				t.Fatalf("the run ended with %v", err)
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, out.String())
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
	for want, args := range map[string][]string{
		"did you mean own_simple?":   {"plugins", tasksetKey + "default_workflow_type=own_simpel"},
		"did you mean digit_reward?": {"plugins", tasksetKey + "default_reward_fn_type=digit_rewart"},
		"imports.py:3: ModuleNotFoundError: No module named 'no_such_package_anywhere'; install it": {"broken",
			tasksetKey + "default_workflow_type=absent_workflow"},
		"syntax.py:1: SyntaxError": {"broken", tasksetKey + "default_workflow_type=absent_workflow"},
		"absent.py:2: ImportError: trinity.common.workflows.envs is not part of the package trinity": {"broken",
			tasksetKey + "default_workflow_type=absent_workflow"},
		"it is no class with run()": {"failing", tasksetKey + "default_workflow_type=no_class"},
	} {
		o := pythonIn(t, args[0])
		in, err := Inspect(t.Context(), loadPython(t, t.TempDir(), o, and(tiny, args[1:]...)...), o)
		if err == nil {
			in.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
	o := pythonIn(t, "broken")
	args := and(tiny, tasksetKey+"default_workflow_type=good_workflow")
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
