package run

import (
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

var (
	agentsPython = flag.String("agents.python", "", "TestAgentsReal: a Python with openai, openai-agents, langgraph "+
		"and langchain-openai")
	verifiersPython = flag.String("verifiers.python", "", "TestVerifiersReal, TestVerifiersLearns: a Python with "+
		"verifiers")
	verifiersFolder = flag.String("verifiers.folder", "", "TestVerifiersReal: a copy of the package's repository")
)

// absolute is a path below the root of the repository.
func absolute(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// branches is the metric of the branches of a rollout. It is there where there are any.
const branches = "rollout/new_sequences/mean"

// trains runs two steps of a configuration and holds that they are exact. It returns the means of metrics over them.
func trains(t *testing.T, what string, cfg *config.Config, p Python, keys ...string) map[string]float64 {
	t.Helper()
	var out strings.Builder
	o := options()
	o.Out, o.Python = &out, p
	sum, err := Run(t.Context(), cfg, o)
	if err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out.String())
	}
	got := map[string]float64{}
	for _, l := range sum.Lines {
		if gap, measured := l.Metrics["train/kl_sample_train_v1"]; !measured || gap != 0 {
			t.Errorf("%s: step %d: gap %v (measured: %v)", what, l.Step, gap, measured)
		}
	}
	for _, key := range append(keys, rewardKey, "rollout/num_turns/mean", "rollout/failed_task_count", branches) {
		got[key] = sum.Mean(key, 1, len(sum.Lines))
	}
	if math.IsNaN(got[branches]) { // there was none
		got[branches] = 0
	}
	if got["rollout/failed_task_count"] != 0 {
		t.Errorf("%s: tasks failed:\n%s", what, out.String())
	}
	t.Logf("%s: %d steps, gap 0, reward %.3f, %.1f calls a rollout, branches %.2f", what, len(sum.Lines),
		got[rewardKey], got["rollout/num_turns/mean"], got[branches])
	return got
}

// TestAgentsReal runs agents of others' frameworks, unmodified but for their reward.
func TestAgentsReal(t *testing.T) {
	if *agentsPython == "" {
		t.Skip("needs Python packages: make agents")
	}
	for _, a := range []struct {
		what, script string
		branches     func(calls float64) float64 // of a rollout
	}{
		// it does not repeat what the model thought, so its second call is a branch
		{"OpenAI's client", "examples/agent/agent.py", func(calls float64) float64 { return calls - 1 }},
		{"LangGraph", "run/testdata/agent_langgraph.py", func(float64) float64 { return 0 }},
		// its second agent has a conversation of its own
		{"OpenAI Agents SDK", "run/testdata/agent_sdk.py", func(float64) float64 { return 1 }},
	} {
		args := "{command: [" + *agentsPython + ", " + absolute(t, a.script) +
			"], timeout: 300, concurrency: 4, max_tokens: 400}"
		cfg := load(t, t.TempDir(), and(tiny, tasksetKey+"default_workflow_type=agent_workflow",
			tasksetKey+"workflow_args="+args, "explorer.max_retry_times=0", "buffer.total_steps=2",
			"trainer.total_steps=2", "model.max_response_tokens=40")...)
		got := trains(t, a.what, cfg, Python{})
		if want := a.branches(got["rollout/num_turns/mean"]); math.Abs(got[branches]-want) > 1e-9 {
			t.Errorf("%s: %v branches a rollout, want %v", a.what, got[branches], want)
		}
	}
}

// unmodified are environments of the repository of verifiers as they are: the folder of the package in the repository,
// and the arguments that make them short. All but reverse_text run in the harness null of verifiers.
var unmodified = []struct{ id, folder, args string }{
	{"echo-v1", "tests/v1/fixtures", "taskset: {phrases: [hello, ping]}"},
	// a user in a script, two turns
	{"echo-user-sim-v1", "tests/v1/fixtures", "taskset: {phrases: [hello, ping]}"},
	// two agents, one of them not trainable
	{"duet-v1", "tests/v1/fixtures", "taskset: {phrases: [hello, ping]}"},
	{"gsm8k", "environments/gsm8k", "taskset: {split: train}"},
	{"alphabet-sort", "environments/alphabet_sort", "taskset: {max_turns: 2, max_names_per_turn: 2}"},
	{"reverse-text", "environments/reverse_text",
		"config: {agent: {harness: {id: sums}}}, taskset: {dataset_name: ROWS}"},
}

// place puts rows of our own where Hugging Face's datasets finds them offline, and returns a folder with those of
// reverse-text.
func place(t *testing.T) (rows string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HF_HOME", filepath.Join(dir, "home"))
	t.Setenv("HF_HUB_OFFLINE", "1")
	rows = filepath.Join(dir, "rows")
	if err := os.MkdirAll(rows, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct{ repository, config, row string }{
		{"", "train", `{"prompt": "a b c"}`},
		{"openai/gsm8k", "main", `{"question": "Ann has 2 apples and gets 3.", "answer": "2+3=5\n#### 5"}`},
		{"kalomaze/alphabetic-arxiv-authors-it1", "default", `{"names": ["AnnLee", "BobKay", "CatFox", "DanEve"]}`},
	} {
		file := filepath.Join(dir, r.config+".jsonl")
		if r.repository == "" {
			file = filepath.Join(rows, "train.jsonl")
		}
		if err := os.WriteFile(file, []byte(strings.Repeat(r.row+"\n", 16)), 0o644); err != nil {
			t.Fatal(err)
		}
		if r.repository == "" {
			continue
		}
		script := absolute(t, "rl/verifiers/testdata/place.py")
		c := exec.Command(*verifiersPython, script, r.repository, r.config, "train", file)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return rows
}

// TestVerifiersReal runs environments of verifiers, unmodified.
func TestVerifiersReal(t *testing.T) {
	if *verifiersPython == "" {
		t.Skip("needs the package verifiers: make verifiers")
	}
	environments, rows := unmodified[:0:0], ""
	if *verifiersFolder != "" {
		environments, rows = unmodified, place(t)
	}
	environments = append(environments, struct{ id, folder, args string }{"sums", "", "taskset: {split: test}"})
	for _, e := range environments {
		dir := absolute(t, "examples/verifiers")
		if e.folder != "" { // not the repository itself, which has the sources of verifiers
			dir += string(os.PathListSeparator) + filepath.Join(*verifiersFolder, e.folder)
		}
		args := "{dir: '" + dir + "', limit: 16, timeout: 300, max_tokens: 600, concurrency: 2, " +
			strings.Replace(e.args, "ROWS", rows, 1) + "}"
		cfg := load(t, t.TempDir(), and(tiny, tasksetKey+"default_workflow_type=verifiers_workflow",
			tasksetKey+"path=verifiers:"+e.id, tasksetKey+"workflow_args="+args, "explorer.max_retry_times=0",
			"model.max_prompt_tokens=600", "buffer.total_steps=2", "trainer.total_steps=2")...)
		t.Run(e.id, func(t *testing.T) { trains(t, e.id, cfg, Python{Executable: *verifiersPython}) })
	}
}

// TestVerifiersLearns: what the example of verifiers rewards is learned; with shuffled advantages it is not.
func TestVerifiersLearns(t *testing.T) {
	if *verifiersPython == "" || !*agentsFull {
		t.Skip("needs the package verifiers: make verifiers, then make learn-agents")
	}
	args := "{dir: " + absolute(t, "examples/verifiers") + ", taskset: {split: SPLIT}, timeout: 900, concurrency: 4}"
	learnCarried(t, "verifiers", "reward/accuracy", "../examples/verifiers/sums.yaml",
		strings.Replace(args, "SPLIT", "train", 1), Python{Executable: *verifiersPython},
		"buffer.explorer_input.eval_tasksets[0].workflow_args="+strings.Replace(args, "SPLIT", "test", 1))
}
