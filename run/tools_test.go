package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

// fluent is a toolbox for a model that never learned to call tools: a number in a box becomes a call while there are
// calls left in the episode. What is called is the real tool, through its real wrapper.
type fluent struct {
	env.Toolbox
	say   func(number string) string
	calls *atomic.Int32
}

// Wrappers implements env.Toolbox.
func (f fluent) Wrappers(ctx context.Context, s env.ToolSpec) (map[string]env.Wrapper, error) {
	all, err := f.Toolbox.Wrappers(ctx, s)
	if err != nil {
		return nil, err
	}
	inner := all[env.AllTools]
	return map[string]env.Wrapper{env.AllTools: func(e env.Env) env.Env { return &translated{f, inner(e), 0} }}, nil
}

// translated is an environment whose player speaks through a translator.
type translated struct {
	fluent
	inner env.Env
	uses  int
}

var boxed = regexp.MustCompile(`\\boxed\{(\d+)\}`)

func (e *translated) Reset(seed uint64) (env.Observation, error) {
	e.uses = 0
	return e.inner.Reset(seed)
}

func (e *translated) Step(action string) (env.Transition, error) {
	number := boxed.FindStringSubmatch(action)
	if number == nil || e.uses == 2 {
		return e.inner.Step(action)
	}
	e.uses++
	t, err := e.inner.Step(e.say(number[1]))
	if t.Tool {
		e.calls.Add(1)
		t.Action = "" // the player said something else
	}
	return t, err
}

func (e *translated) Fork() env.Env { return &translated{e.fluent, e.inner.Fork(), e.uses} }

func (e *translated) SampleAction(r env.Draws) string { return e.inner.SampleAction(r) }

// withPython are options in which every number is a program, or the test is skipped with the reason.
func withPython(t *testing.T) (Options, *atomic.Int32) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no Python: ", err)
	}
	if _, err := sandbox.Open(t.Context(), sandbox.Options{Staged: true}); errors.Is(err, sandbox.ErrRefused) {
		t.Skip("no sandbox: ", err)
	}
	o, calls := options(), new(atomic.Int32)
	box := tool.NewBox(tool.Options{Staged: true})
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	o.tools = fluent{box, func(number string) string { return "<python>print(" + number + " ** 2)</python>" }, calls}
	return o, calls
}

// Episodes in which the player uses tools are sampled exactly on policy, are the same each time, and resume.
func TestGemWithTools(t *testing.T) {
	t.Parallel()
	o, calls := withPython(t)
	pairs := []string{"tools=python", "tool_timeout=60", "tool_reward=0.05", "max_tool_uses=5", "max_steps=2",
		"eval_every=0", "num_env=2", "batch_size=4"}
	for _, wrappers := range []string{"concat", "concat_with_action"} {
		t.Run(wrappers, func(t *testing.T) {
			before := calls.Load()
			all := append([]string{"env_wrappers=" + wrappers}, pairs...)
			first, lines := gemRuns(t, o, short(t.TempDir(), all...))
			if calls.Load() == before {
				t.Fatal("no tool was used")
			}
			for i, l := range lines {
				if v, ok := l.Metrics["train/kl_sample_train_v2"]; !ok || v != 0 {
					t.Errorf("step %d: sampler and trainer differ by %v (%v)", i, v, ok)
				}
			}
			second, again := gemRuns(t, o, short(t.TempDir(), all...))
			same(t, "the same again", again, lines)
			if t.Failed() {
				logDifference(t, first, second)
			}
		})
	}
}

// logDifference logs the first samples of two runs that are not the same.
func logDifference(t *testing.T, first, second string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(first, "rollouts", "step_*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no rollouts: %v", first, err)
	}
	for _, file := range files {
		one, err := os.ReadFile(file)
		two, err2 := os.ReadFile(filepath.Join(second, "rollouts", filepath.Base(file)))
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
		}
		a, b := strings.Split(string(one), "\n"), strings.Split(string(two), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Logf("%s, line %d:\n%s\n%s", filepath.Base(file), i+1, a[i], b[i])
				return
			}
		}
	}
}

// The same as a workflow of trinity run.
func TestGemWorkflowWithTools(t *testing.T) {
	t.Parallel()
	o, calls := withPython(t)
	cfg, err := config.Load("../examples/tiny/guess/workflow.yaml", []string{"checkpoint_root_dir=" + t.TempDir(),
		"buffer.batch_size=2", "algorithm.repeat_times=4", "buffer.total_steps=2", "trainer.total_steps=2",
		"explorer.eval_on_startup=false", "explorer.eval_interval=100",
		"buffer.explorer_input.taskset.workflow_args.tools=python",
		"buffer.explorer_input.taskset.workflow_args.tool_success_reward=0.1"}, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	lines := runs(t, cfg, o)
	if calls.Load() == 0 || len(lines) != 2 {
		t.Fatalf("%d lines, %d uses of the tool", len(lines), calls.Load())
	}
	for _, l := range lines {
		if v, ok := l.Metrics["train/kl_sample_train_v2"]; !ok || v != 0 {
			t.Errorf("step %d: sampler and trainer differ by %v (%v)", l.Step, v, ok)
		}
	}
}

// A server that dies ends episodes as failed ones. They have no reward, and a run without any other episode says why.
func TestGemWithADeadServer(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "hint"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult,
		any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "higher"}}}, nil, nil
	})
	var dead atomic.Bool
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			http.Error(w, "out of order", http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer h.Close()
	box := tool.NewBox(tool.Options{})
	defer box.Close()
	o, calls := options(), new(atomic.Int32)
	call := "<tool_call><tool_name>hint</tool_name><arguments>{}</arguments></tool_call>"
	o.tools = fluent{box, func(string) string { return call }, calls}
	pairs := short(t.TempDir(), "tools=mcp:"+h.URL, "max_steps=1", "eval_every=0", "num_env=2", "batch_size=2")
	_, lines := gemRuns(t, o, pairs)
	if v := lines[0].Metrics["train/kl_sample_train_v2"]; calls.Load() == 0 || v != 0 {
		t.Errorf("%d calls, a difference of %v", calls.Load(), v)
	}
	dead.Store(true)
	var out bytes.Buffer
	o.Out = &out
	err := Gem(t.Context(), short(t.TempDir(), "tools=mcp:"+h.URL, "max_steps=1", "eval_every=0", "num_env=2"), o)
	want := fmt.Sprintf("the MCP server %q (%s) does not answer", "default", h.URL)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("a dead server: %v, want %q", err, want)
	}
}

// What is wrong with tools is said before a run begins.
func TestGemToolsRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, pairs := range map[string][]string{
		`there is no wrapper "pythn_tool"; the nearest is "python_tool"`: {"env_wrappers=pythn_tool,concat"},
		`there is no tool "bash"`:                          {"tools=bash"},
		"the search tool has no server":                    {"env_wrappers=search_tool,concat"},
		`"chroot" is no kind of sandbox`:                   {"tools=python", "sandbox=chroot"},
		"the main function of this program does not begin": {"tools=python"},
		`the command "./no-server" cannot be started`:      {"tools=mcp:./no-server"},
	} {
		if err := Gem(context.Background(), append([]string{"output_dir=" + dir}, pairs...), options()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", pairs, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a refused run left %v, %v", left, err)
	}
}
