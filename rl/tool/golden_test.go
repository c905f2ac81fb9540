package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/sandbox"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// golden is a line of testdata/gem_tools.jsonl, which gem_tools.py wrote with GEM's own tools.
type golden struct {
	Kind, Name, Action, Text, Parsed, Query, Arguments string
	LastLine                                           bool `json:"last_line"`
	OK, Failed, Instructions                           bool
	Result                                             []struct{ Document struct{ Contents string } }
	Lines                                              []string
	Options                                            struct {
		Reward  float64 `json:"tool_reward"`
		Success float64 `json:"tool_success_reward"`
		Error   float64 `json:"tool_execute_error_reward"`
		Most    int     `json:"max_tool_uses"`
	}
	Steps []struct {
		Action, Text, Parsed string
		Reward               float64
		Done, Tool           bool
		Counters             map[string]float64
	}
	Again map[string]float64
}

// goldens are the lines of a kind.
func goldens(t *testing.T, kind string) (list []golden) {
	t.Helper()
	data, err := os.ReadFile("testdata/gem_tools.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var g golden
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatal(err)
		}
		if g.Kind == kind {
			list = append(list, g)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no golden line of the kind %s", kind)
	}
	return list
}

// differs are the answers on which GEM's Python tool is known to be wrong: it takes an empty block for a call and
// rewards it, and it needs numpy to supply a missing import.
var differs = map[string]string{"```python```": "",
	"<python>print(floor(2.5))</python>": "Code execution result: 2\n\n"}

// The Python tool does with answers what GEM's does, character by character.
func TestPythonIsGEMs(t *testing.T) {
	t.Parallel()
	p := python(t, sandbox.None)
	for _, g := range goldens(t, "python") {
		if !strings.HasPrefix(p.program.Version, "3.11.") && strings.Contains(g.Text, "Error") {
			continue // tracebacks differ between versions of Python
		}
		t.Run("", func(t *testing.T) {
			t.Parallel()
			tool := *p
			tool.lastLine = g.LastLine
			use, err := tool.Use(t.Context(), g.Action)
			if err != nil {
				t.Fatal(err)
			}
			if want, known := differs[g.Action]; known {
				if use.Text != want || use.Failed {
					t.Errorf("%q: %+v, want %q", g.Action, use, want)
				}
				return
			}
			if use.Called != g.OK || use.Text != g.Text || g.OK && (use.Failed != g.Failed || use.Action != g.Parsed) {
				t.Errorf("%q:\n%+v\nwant\n%+v", g.Action, use, g)
			}
		})
	}
}

func TestQueriesAreGEMs(t *testing.T) {
	for _, g := range goldens(t, "search") {
		query, until, ok := findQuery(g.Action)
		if ok != g.OK || ok && (query != g.Query || g.Action[:until] != g.Parsed) {
			t.Errorf("%q: %q, %d, %v; want %+v", g.Action, query, until, ok, g)
		}
	}
}

func TestCallsAreGEMs(t *testing.T) {
	for _, g := range goldens(t, "mcp") {
		c, ok := findCall(g.Action)
		if ok != g.OK {
			t.Errorf("%q: a call %v, want %v", g.Action, ok, g.OK)
			continue
		}
		if !ok {
			continue
		}
		var want any
		d := json.NewDecoder(strings.NewReader(g.Arguments))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		got, _ := pythonJSON(c.arguments)
		wanted, _ := pythonJSON(want)
		if c.name != g.Name || c.block != g.Parsed || strings.ReplaceAll(got, "2.50", "2.5") != wanted {
			t.Errorf("%q: %+v (%s), want %s %s", g.Action, c, got, g.Name, wanted)
		}
	}
}

func TestSchemasAreGEMs(t *testing.T) {
	schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"},
		"b": map[string]any{"default": 1.5, "enum": []any{1, "x", nil, true}}}}
	first, err := schemaLine("math_add", "[math] Adds \"a\", b: é 😀 <tag> & more", schema)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := schemaLine("math_none", "[math] Tool from math server", map[string]any{"type": "object"})
	if want := goldens(t, "schemas")[0].Lines; !slices.Equal([]string{first, second}, want) {
		t.Errorf("got\n%s\n%s\nwant\n%s", first, second, strings.Join(want, "\n"))
	}
}

// listener is the environment of gem_tools.py.
type listener struct{ env.Env }

func (listener) Reset(uint64) (env.Observation, error) { return env.Observation{Text: "task"}, nil }

func (listener) Step(action string) (env.Transition, error) {
	return env.Transition{Observation: env.Observation{Text: "heard " + action}, Reward: 1,
		Terminated: action == "end"}, nil
}

// Rewards, counters and the notice at the last use are those of ToolEnvWrapper.
func TestEpisodesAreGEMs(t *testing.T) {
	t.Parallel()
	p := python(t, sandbox.None)
	for _, g := range goldens(t, "episode") {
		o := g.Options
		rules := env.ToolOptions{Reward: o.Reward, SuccessReward: o.Success, ErrorReward: o.Error, MaxUses: o.Most}
		e := env.NewTools(context.Background(), listener{}, []env.Tool{p}, rules)
		if first, err := e.Reset(1); err != nil || first.Text != "task\n"+p.Instruction() {
			t.Errorf("%s begins with %q, %v", g.Name, first.Text, err)
		}
		for i, want := range g.Steps {
			if !strings.HasPrefix(p.program.Version, "3.11.") && strings.Contains(want.Text, "Error") {
				want.Text = ""
			}
			s, err := e.Step(want.Action)
			if want.Text == "" {
				want.Text = s.Text
			}
			if err != nil || s.Text != want.Text || s.Reward != want.Reward || s.Done() != want.Done ||
				s.Tool != want.Tool || s.Action != want.Parsed || !reflect.DeepEqual(s.Metrics, want.Counters) {
				t.Errorf("%s, step %d: %+v, %v\nwant %+v", g.Name, i, s, err, want)
			}
		}
		if again, err := e.Reset(1); err != nil || !reflect.DeepEqual(again.Metrics, g.Again) {
			t.Errorf("%s, the next episode begins with %v, want %v", g.Name, again.Metrics, g.Again)
		}
	}
}

// A refusal of the sandbox reaches the user with what to do.
func TestRefusedSandbox(t *testing.T) {
	_, err := NewBox(Options{}).Wrappers(t.Context(), env.ToolSpec{Wrappers: "python_tool"})
	if !errors.Is(err, sandbox.ErrRefused) || !strings.Contains(err.Error(), "set sandbox to none") {
		t.Errorf("error %v", err)
	}
}
