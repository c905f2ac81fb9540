package run

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

// fluent is a toolbox for a model that never learned to call tools: a number in a box becomes a call while there are
// calls left in the episode. What is called is a tool through its real wrapper.
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

// squares is a toolbox with one tool, which answers a number with its square. It stands for Python in tests of what a
// run does with tools; package rl/tool tests Python itself.
type squares struct{}

// Names implements env.Toolbox.
func (s squares) Names(spec env.ToolSpec) (map[string]env.Wrapper, error) {
	return s.Wrappers(context.Background(), spec)
}

// Wrappers implements env.Toolbox.
func (s squares) Wrappers(ctx context.Context, spec env.ToolSpec) (map[string]env.Wrapper, error) {
	return map[string]env.Wrapper{env.AllTools: func(e env.Env) env.Env {
		return env.NewTools(ctx, e, []env.Tool{s}, spec.Rules)
	}}, nil
}

// Instruction implements env.Tool.
func (squares) Instruction() string { return "Write <square>n</square> to read the square of n." }

// Use implements env.Tool.
func (squares) Use(_ context.Context, action string) (env.ToolUse, error) {
	number, ok := strings.CutPrefix(strings.TrimSuffix(action, "</square>"), "<square>")
	n, valid := new(big.Int).SetString(number, 10)
	if !valid {
		return env.ToolUse{Called: ok, Failed: ok, Action: action, Text: "that is no number"}, nil
	}
	return env.ToolUse{Called: ok, Action: action, Text: "the square is " + n.Mul(n, n).String()}, nil
}

// withSquares are options in which the player asks for the square of every number, and the count of its calls.
func withSquares() (Options, *atomic.Int32) {
	o, calls := playing(), new(atomic.Int32)
	o.Toolbox = fluent{squares{}, func(number string) string { return "<square>" + number + "</square>" }, calls}
	return o, calls
}

// Episodes in which the player uses tools are sampled exactly on policy, are the same each time, and resume.
func TestGemWithTools(t *testing.T) {
	t.Parallel()
	o, calls := withSquares()
	pairs := []string{"tools=python", "tool_reward=0.05", "max_tool_uses=5", "max_steps=2",
		"eval_every=0", "num_env=2", "batch_size=4"}
	for _, wrappers := range []string{"concat", "concat_with_action"} {
		t.Run(wrappers, func(t *testing.T) {
			before := calls.Load()
			all := append([]string{"env_wrappers=" + wrappers}, pairs...)
			_, lines := gemRuns(t, o, short(t.TempDir(), all...))
			if calls.Load() == before {
				t.Fatal("no tool was used")
			}
			for i, l := range lines {
				if v, ok := l.Metrics["train/kl_sample_train_v2"]; !ok || v != 0 {
					t.Errorf("step %d: sampler and trainer differ by %v (%v)", i, v, ok)
				}
			}
			_, again := gemRuns(t, o, short(t.TempDir(), all...))
			same(t, "the same again", again, lines)
		})
	}
}

// The same as a workflow of trinity run.
func TestGemWorkflowWithTools(t *testing.T) {
	t.Parallel()
	o, calls := withSquares()
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
	box := tool.NewBox(tool.Options{Pause: time.Millisecond})
	defer box.Close()
	o, calls := playing(), new(atomic.Int32)
	call := "<tool_call><tool_name>hint</tool_name><arguments>{}</arguments></tool_call>"
	o.Toolbox = fluent{box, func(string) string { return call }, calls}
	pairs := short(t.TempDir(), "tools=mcp:"+h.URL, "max_steps=1", "eval_every=0", "num_env=2", "batch_size=2",
		"max_tokens=64")
	_, lines := gemRuns(t, o, pairs)
	if v := lines[0].Metrics["train/kl_sample_train_v2"]; calls.Load() == 0 || v != 0 {
		t.Errorf("%d calls, a difference of %v", calls.Load(), v)
	}
	dead.Store(true)
	var out bytes.Buffer
	o.Out = &out
	err := Gem(t.Context(), short(t.TempDir(), "tools=mcp:"+h.URL, "max_steps=1", "eval_every=0", "num_env=2",
		"max_tokens=64"), o) // in which each answer has a call
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
		`unknown kind "chroot"`:                            {"tools=python", "sandbox=chroot"},
		"the main function of this program does not begin": {"tools=python"},
		`the command "./no-server" cannot be started`:      {"tools=mcp:./no-server"},
	} {
		if err := Gem(context.Background(), append([]string{"output_dir=" + dir}, pairs...), playing()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one with %q", pairs, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a refused run left %v, %v", left, err)
	}
}
