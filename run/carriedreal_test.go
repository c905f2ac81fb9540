package run

import (
	"flag"
	"os"
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
	verifiersFolder = flag.String("verifiers.folder", "", "TestVerifiersReal: the folder environments of the "+
		"package's repository")
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

// trains runs two steps of a configuration and holds that they are exact. It returns the mean of a metric over them.
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
		if gap, measured := l.Metrics["train/kl_sample_train_v1"]; measured && gap != 0 {
			t.Errorf("%s: step %d: gap %v", what, l.Step, gap)
		}
	}
	for _, key := range append(keys, rewardKey, "rollout/num_turns/mean", "rollout/failed_task_count") {
		got[key] = sum.Mean(key, 1, len(sum.Lines))
	}
	if got["rollout/failed_task_count"] != 0 {
		t.Errorf("%s: tasks failed:\n%s", what, out.String())
	}
	t.Logf("%s: %d steps, gap 0, reward %.3f, %.1f calls a rollout, branches %.2f", what, len(sum.Lines),
		got[rewardKey], got["rollout/num_turns/mean"], got["rollout/new_sequences/mean"])
	return got
}

// TestAgentsReal runs agents of others' frameworks, unmodified but for their reward.
func TestAgentsReal(t *testing.T) {
	if *agentsPython == "" {
		t.Skip("needs Python packages: make agents")
	}
	for what, script := range map[string]string{"OpenAI's client": "examples/agent/agent.py",
		"LangGraph": "run/testdata/agent_langgraph.py", "OpenAI Agents SDK": "run/testdata/agent_sdk.py"} {
		args := "{command: [" + *agentsPython + ", " + absolute(t, script) +
			"], timeout: 300, concurrency: 4, max_tokens: 400}"
		cfg := load(t, t.TempDir(), and(tiny, tasksetKey+"default_workflow_type=agent_workflow",
			tasksetKey+"workflow_args="+args, "explorer.max_retry_times=0", "buffer.total_steps=2",
			"trainer.total_steps=2")...)
		trains(t, what, cfg, Python{})
	}
}

// TestVerifiersReal runs environments of verifiers, unmodified.
func TestVerifiersReal(t *testing.T) {
	if *verifiersPython == "" {
		t.Skip("needs the package verifiers: make verifiers")
	}
	const here = "agent: {harness: {id: sums}}"
	environments := []struct{ id, args string }{{"sums", "taskset: {split: test}"}}
	if *verifiersFolder != "" {
		rows := filepath.Join(t.TempDir(), "rows")
		if err := os.MkdirAll(rows, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(rows, "train.jsonl"),
			[]byte(strings.Repeat("{\"prompt\": \"abc def\"}\n{\"prompt\": \"a b c\"}\n", 8)), 0o644); err != nil {
			t.Fatal(err)
		}
		environments = append(environments, []struct{ id, args string }{
			// kuhn_poker does not fit: its rules are 567 tokens of the shipped model, whose context is 512
			{"reverse_text", "config: {" + here + "}, taskset: {dataset_name: " + rows + "}"},
			{"proposer_solver", "config: {proposer: {harness: {id: sums}}, solver: {harness: {id: sums}}}"}}...)
	}
	for _, e := range environments {
		dir := absolute(t, "examples/verifiers")
		if *verifiersFolder != "" {
			dir += string(os.PathListSeparator) + filepath.Join(*verifiersFolder, e.id)
		}
		args := "{dir: '" + dir + "', limit: 16, timeout: 300, max_tokens: 600, " + e.args + "}"
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
	args := "{dir: " + absolute(t, "examples/verifiers") + ", taskset: {split: SPLIT}, timeout: 120}"
	learnCarried(t, "verifiers", "../examples/verifiers/sums.yaml", strings.Replace(args, "SPLIT", "train", 1),
		Python{Executable: *verifiersPython},
		"buffer.explorer_input.eval_tasksets[0].workflow_args="+strings.Replace(args, "SPLIT", "test", 1))
}
