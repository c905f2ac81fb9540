package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// agentMain makes this test binary an agent, in the role that a test gives it.
func agentMain(role string) int {
	var work struct {
		URL    string `json:"base_url"`
		Model  string
		Task   map[string]any
		Eval   bool   `json:"is_eval"`
		Reward string `json:"reward_file"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&work); err != nil {
		fmt.Println(err)
		return 1
	}
	ask := func(model, prompt string) string {
		body, _ := json.Marshal(map[string]any{"model": model, "prompt": prompt, "temperature": 0.2})
		resp, err := http.Post(work.URL+"/completions", "application/json", strings.NewReader(string(body)))
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		var out struct{ Choices []struct{ Text string } }
		if resp.StatusCode != http.StatusOK || json.Unmarshal(raw, &out) != nil || len(out.Choices) != 1 {
			fmt.Println(string(raw))
			os.Exit(3)
		}
		return out.Choices[0].Text
	}
	question, _ := work.Task["question"].(string)
	prompt := "<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n"
	switch role {
	case "unknown":
		ask("gpt-7", prompt)
	case "spends":
		for range 100 {
			prompt += ask("policy", prompt)
		}
	case "stays":
		ask("policy", prompt)
		<-time.After(time.Minute)
	case "silent":
		ask("policy", prompt)
		return 0
	}
	first := ask(work.Model, prompt)
	second := ask("policy", prompt+first+"<|im_end|>\n<|im_start|>user\nSure?<|im_end|>\n<|im_start|>assistant\n")
	if strings.Contains(question, "a") { // a branch
		ask("policy", prompt+"No.<|im_end|>\n<|im_start|>user\nThen?<|im_end|>\n<|im_start|>assistant\n")
	}
	reward := 0
	if strings.ContainsAny(second, "02468") {
		reward = 1
	}
	fmt.Printf("asked twice, eval %v\n", work.Eval)
	fmt.Println("in " + os.Getenv("TRINITY_FOLDER"))
	if err := os.WriteFile(work.Reward, fmt.Appendf(nil, `{"reward": %d, "metrics": {"accuracy": %d}}`, reward,
		reward), 0o644); err != nil {
		fmt.Println(err)
		return 4
	}
	return 0
}

// started is a job whose rollouts are carried out by programs that it starts: this test binary in a role.
func started(t *testing.T, dir, role string, more ...string) *config.Config {
	t.Helper()
	return load(t, dir, and(and(tiny, tasksetKey+"default_workflow_type=agent_workflow",
		tasksetKey+"workflow_args={command: ["+os.Args[0]+"], env: {RUN_TEST_AGENT: "+role+"}}",
		"explorer.max_retry_times=0"), more...)...)
}

// Agents carry all rollouts of a run out. What is trained is what was sampled, to the bit; branches are counted; a
// second run gives the same; what they print is in the log with the task.
func TestAgents(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "trinity-tiny", "gsm8k", "agent")
	left := filepath.Join(folder, "explorer", "trinity-agent-1", "task.json") // by a run that was killed
	if err := errors.Join(os.MkdirAll(filepath.Dir(left), 0o755), os.WriteFile(left, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	play := func(dir string) []monitor.Line {
		sum, err := Run(t.Context(), started(t, dir, "talks"), options())
		if err != nil {
			t.Fatal(err)
		}
		return sum.Lines
	}
	lines := play(dir)
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	branches := 0.0
	for _, l := range lines {
		gap, measured := l.Metrics["train/kl_sample_train_v1"]
		if !measured || gap != 0 || l.Metrics["rollout/num_turns/mean"] < 2 ||
			l.Metrics["rollout/accuracy/mean"] != l.Metrics["critic/rewards/mean"] {
			t.Errorf("step %d: gap %v (%v), %v", l.Step, gap, measured, l.Metrics)
		}
		branches += l.Metrics["rollout/new_sequences/mean"]
	}
	if branches == 0 {
		t.Error("no branch was counted")
	}
	log, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "log", "agent.log"))
	if err != nil || !strings.Contains(string(log), "asked twice, eval false") ||
		!strings.Contains(string(log), "task=1/0/0") || !strings.Contains(string(log), "in "+folder) {
		t.Errorf("%v, the log is %s", err, log)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the folder that a killed run left is still there: %v", err)
	}
	same(t, "a second run", timeless(play(t.TempDir())), timeless(lines))
}

// An agent that fails is a failed rollout, with a message that says what to do, and never a reward of 0.
func TestAgentsFail(t *testing.T) {
	for _, c := range []struct {
		role, args string
		want       []string
	}{
		{"unknown", "", []string{"exit status 3", `the model \"gpt-7\" is not here; this rollout has`, "policy"}},
		{"spends", ", max_tokens: 60", []string{"exit status 3", "of its 60 tokens (workflow_args.max_tokens)"}},
		{"spends", ", max_calls: 3", []string{"has made its 3 calls (workflow_args.max_calls)"}},
		{"stays", ", timeout: 1", []string{"did not end within 1s (workflow_args.timeout) and was killed"}},
		{"silent", "", []string{"ended without a reward"}},
	} {
		args := tasksetKey + "workflow_args={command: [" + os.Args[0] + "], env: {RUN_TEST_AGENT: " + c.role + "}" +
			c.args + "}"
		o := options()
		var out strings.Builder
		o.Out = &out
		_, err := Run(t.Context(), started(t, t.TempDir(), c.role, and([]string{args}, steps(1)...)...), o)
		if err == nil || !strings.Contains(err.Error(), "tasks failed") {
			t.Errorf("%s: the run ended with %v", c.role, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: said\n%s\nwant %q", c.role, out.String(), want)
			}
		}
	}
}
