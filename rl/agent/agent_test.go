package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// TestMain makes this test binary the programs of the tests.
func TestMain(m *testing.M) {
	role := os.Getenv("AGENT_TEST")
	if role == "" {
		goleak.VerifyTestMain(m)
		return
	}
	write := func(text string) {
		if err := os.WriteFile(os.Getenv("TRINITY_REWARD_FILE"), []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	switch role {
	case "told": // it rewards itself with what it was told
		input, err := io.ReadAll(os.Stdin)
		file, ferr := os.ReadFile(os.Getenv("TRINITY_TASK_FILE"))
		if err != nil || ferr != nil || !bytes.Equal(input, file) {
			panic(fmt.Sprint(err, ferr, string(input), string(file)))
		}
		fmt.Println(string(input))
		for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "TRINITY_BASE_URL",
			"TRINITY_MODEL", "TRINITY_ROLLOUT_ID", "TRINITY_SEED", "TRINITY_IS_EVAL", "MINE"} {
			fmt.Println(name + "=" + os.Getenv(name))
		}
		write(`{"reward": 0.5, "metrics": {"accuracy": 1}}`)
	case "fails":
		fmt.Fprintln(os.Stderr, "no such tool")
		write("1")
		os.Exit(4)
	case "never":
		fmt.Println("waiting")
		<-time.After(time.Minute)
	case "none":
	default: // what it writes
		write(role)
	}
}

// told is what a program printed, by its task.
type told struct {
	mu    sync.Mutex
	lines []string
	tasks map[string]bool
	on    func() // if not nil, called for each line
}

func (l *told) add(task, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tasks == nil {
		l.tasks = map[string]bool{}
	}
	l.lines, l.tasks[task] = append(l.lines, line), true
	if l.on != nil {
		l.on()
	}
}

func (l *told) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// open opens the world without a job.
func open(t *testing.T, log func(outside.Line)) *World {
	t.Helper()
	w := &World{}
	site := outside.Site{Log: func(string) func(outside.Line) { return log }, Folder: func(string) string { return "" }}
	if _, err := w.Open(t.Context(), outside.Named{}, site); err != nil {
		t.Fatal(err)
	}
	return w
}

// plays has a program carry a rollout out.
func plays(ctx context.Context, t *testing.T, role string, more map[string]any) ([]workflow.Part, *told, error) {
	t.Helper()
	l := &told{}
	parts, err := playsTo(ctx, t, l, role, more)
	return parts, l, err
}

// playsTo is plays with what hears the program.
func playsTo(ctx context.Context, t *testing.T, l *told, role string, more map[string]any) ([]workflow.Part, error) {
	t.Helper()
	a := open(t, func(line outside.Line) { l.add(line.Task, line.Text) })
	defer a.Close()
	values := map[string]any{"command": []any{os.Args[0]}, "env": map[string]any{"AGENT_TEST": role, "MINE": 7}}
	for k, v := range more {
		values[k] = v
	}
	c, err := a.Check(values)
	if err != nil {
		t.Fatal(err)
	}
	return c.Carry(ctx, workflow.Work{ID: "3-7-1-ab", URL: "http://127.0.0.1:1/rollouts/3-7-1-ab/v1", Model: "m",
		Run: 1, Eval: true, Seed: math.MaxUint64,
		Task: workflow.Task{Batch: "eval/x", ID: "7", Row: dataset.Row{{Key: "question", Value: "2+2?"}}}})
}

func TestAgentIsTold(t *testing.T) {
	parts, l, err := plays(t.Context(), t, "told", nil)
	if err != nil || len(parts) != 1 || parts[0].Reward != 0.5 || parts[0].Metrics["accuracy"] != 1 ||
		!l.tasks["eval/x/7/1"] {
		t.Fatalf("%+v, %v; tasks %v", parts, err, l.tasks)
	}
	var got struct {
		ID     string `json:"rollout_id"`
		URL    string `json:"base_url"`
		Model  string
		Task   map[string]any
		Eval   bool `json:"is_eval"`
		Run    int
		Seed   uint64
		Reward string `json:"reward_file"`
	}
	if err := json.Unmarshal([]byte(l.lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "3-7-1-ab" || !strings.HasSuffix(got.URL, "/3-7-1-ab/v1") || got.Model != "m" || !got.Eval ||
		got.Run != 1 || got.Task["question"] != "2+2?" || got.Seed != 1<<53-1 || got.Reward == "" {
		t.Errorf("told %s", l.lines[0])
	}
	const url = "http://127.0.0.1:1/rollouts/3-7-1-ab"
	want := "OPENAI_BASE_URL=" + url + "/v1\nOPENAI_API_KEY=EMPTY\nANTHROPIC_BASE_URL=" + url +
		"\nTRINITY_BASE_URL=" + url + "/v1\nTRINITY_MODEL=m\nTRINITY_ROLLOUT_ID=3-7-1-ab" +
		"\nTRINITY_SEED=9007199254740991\nTRINITY_IS_EVAL=1\nMINE=7"
	if v := strings.Join(l.lines[1:], "\n"); v != want {
		t.Errorf("variables\n%s\nwant\n%s", v, want)
	}
	if _, err := os.Stat(filepath.Dir(got.Reward)); !os.IsNotExist(err) {
		t.Errorf("the folder of the rollout is left: %v", err)
	}
}

// TestAgentFails: what goes wrong is an error that says what to do, never a reward.
func TestAgentFails(t *testing.T) {
	for role, want := range map[string]string{
		"fails":             "exit status 4; it printed last:\nno such tool",
		"NaN":               `the reward file holds "NaN": it is not finite`,
		"-Infinity":         "it is not finite",
		`{"reward": NaN}`:   "write a finite number, or",
		`{"value": 1}`:      "there is no reward",
		"well done":         "write a finite number, or",
		"1 2":               "write a finite number, or",
		`{"reward": "one"}`: "write a finite number, or",
	} {
		parts, l, err := plays(t.Context(), t, role, nil)
		if parts != nil || err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "agent: rollout 3-7-1-ab: ") {
			t.Errorf("%s: %v, %v; want %q", role, parts, err, want)
		}
		if role == "fails" && !strings.Contains(l.text(), "the rollout failed") {
			t.Errorf("the log says %q", l.text())
		}
	}
	parts, _, err := plays(t.Context(), t, "none", nil)
	if parts != nil || err != nil { // it may have sent its reward to the URL
		t.Errorf("without a reward: %v, %v", parts, err)
	}
	_, _, err = plays(t.Context(), t, "never", map[string]any{"timeout": 0.3})
	if err == nil || !strings.Contains(err.Error(), "did not end within 300ms (workflow_args.timeout) and was killed") {
		t.Errorf("a program that does not end: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if _, err = playsTo(ctx, t, &told{on: func() { cancel(gone) }}, "never", nil); !errors.Is(err, gone) {
		t.Errorf("a run that ends: %v", err)
	}
}

func TestArguments(t *testing.T) {
	a := open(t, nil)
	defer a.Close()
	for want, values := range map[string]map[string]any{
		"command is missing":              {},
		"command is \"python3 agent.py\"": {"command": "python3 agent.py"},
		"command cannot be run":           {"command": []any{"./no-such-agent"}},
		"timeout is 0":                    {"command": []any{"sh"}, "timeout": 0},
		"concurrency is 0":                {"command": []any{"sh"}, "concurrency": 0},
		"memory is -1":                    {"command": []any{"sh"}, "memory": -1},
		"max_tokens is 0":                 {"command": []any{"sh"}, "max_tokens": 0},
		"env is [A=1]":                    {"command": []any{"sh"}, "env": []any{"A=1"}},
		"env is \"A=B\"":                  {"command": []any{"sh"}, "env": map[string]any{"A=B": 1}},
		"max_token is not an argument":    {"command": []any{"sh"}, "max_token": 3},
	} {
		if _, err := a.Check(values); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
	c, err := a.Check(map[string]any{"command": []any{"sh"}})
	if err != nil {
		t.Fatal(err)
	}
	if l := c.Limits(); l.Tokens != 65536 || l.Calls != 1000 || l.Models != nil {
		t.Errorf("limits %+v", l)
	}
}

func FuzzReward(f *testing.F) {
	for _, s := range []string{"1", "-2.5e3\n", "NaN", `{"reward": 1, "metrics": {"accuracy": 1}}`,
		`{"reward": null}`, ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		part, err := parseReward(data)
		if err == nil && (math.IsNaN(part.Reward) || math.IsInf(part.Reward, 0)) {
			t.Errorf("%q is %v", data, part.Reward)
		}
	})
}
