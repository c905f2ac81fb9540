package env

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Tool is something that a player can use between two moves, by writing a call into its answer. It is safe for
// concurrent use; episodes share it.
type Tool interface {
	// Instruction tells the player the purpose of the tool and how to call it.
	Instruction() string

	// Use executes the call in an action, if there is one. An error is a fault of the machinery (a server that does
	// not answer), after which the episode is lost. Mistakes in the call itself are told to the player.
	Use(ctx context.Context, action string) (ToolUse, error)
}

// ToolUse is the outcome of Tool.Use.
type ToolUse struct {
	Called bool   // there was a call in it
	Failed bool   // the call failed, by the player's own fault
	Text   string // the observation
	Action string // the part of the action that counted: up to the end of the call
}

// ToolOptions are the rewards and limits of tools. The zero value has no rewards and no limit.
type ToolOptions struct {
	Reward        float64 // for each call
	SuccessReward float64 // for each call that does not fail, in addition
	ErrorReward   float64 // below 0: for each call that fails; then the other two are 0
	MaxUses       int     // in an episode; after them calls go to the environment. 0: no limit
}

// Check refuses rewards that exclude each other.
func (o ToolOptions) Check() error {
	switch {
	case o.ErrorReward > 0:
		return fmt.Errorf("env: tool_execute_error_reward is %v; it must be below 0, or 0 for none", o.ErrorReward)
	case o.ErrorReward < 0 && (o.Reward != 0 || o.SuccessReward != 0):
		return errors.New("env: with tool_execute_error_reward, tool_reward and tool_success_reward must be 0")
	case o.MaxUses < 0:
		return fmt.Errorf("env: max_tool_uses is %d; it must be above 0, or 0 for no limit", o.MaxUses)
	}
	return nil
}

// ToolSpec says which tools are wanted, as configurations do; package rl/tool opens them. It can be compared.
type ToolSpec struct {
	// Tools names tools that a player has all together, in one wrapper named AllTools: python, search, mcp:URL,
	// mcp:FILE.json and mcp:COMMAND, separated by commas; "" for none. Rules are their rewards and limits.
	Tools string
	Rules ToolOptions

	// Wrappers names wrappers as Wrappers reads them. Those that GEM has for tools have rules of their own.
	Wrappers string

	Python    string  // the program; "" is the virtual environment's, else python3
	Sandbox   string  // for the model's code: auto, namespaces or none; "" is auto
	Timeout   float64 // of the model's code, in seconds; 0 is GEM's, 10
	SearchURL string  // "" is SEARCH_URL
	TopK      int     // documents of a search; 0 is GEM's, 3
}

// AllTools is the name of the wrapper with all of ToolSpec.Tools.
const AllTools = "tools"

// Names are the names of all wrappers, innermost first: those in Wrappers, in front of them AllTools if there are Tools
// that are named nowhere else.
func (s ToolSpec) Names() string {
	for name := range strings.SplitSeq(s.Wrappers, ",") {
		if strings.TrimSpace(name) == AllTools {
			return s.Wrappers
		}
	}
	switch {
	case strings.TrimSpace(s.Tools) == "":
		return s.Wrappers
	case strings.TrimSpace(s.Wrappers) == "":
		return AllTools
	}
	return AllTools + "," + s.Wrappers
}

// Toolbox opens tools.
type Toolbox interface {
	// Names checks s without opening anything. It returns wrappers that do nothing, under the names that Wrappers
	// returns.
	Names(s ToolSpec) (map[string]Wrapper, error)

	// Wrappers opens the tools of s, once, and returns wrappers for the function Wrappers. Their calls end with ctx.
	Wrappers(ctx context.Context, s ToolSpec) (map[string]Wrapper, error)
}

// lastUse follows the observation of the last use that is allowed. The wording is GEM's.
const lastUse = "\n\nReached the maximum number of tool use. Please output final answer directly."

// Tools is an environment in which the player has tools. A call is a step of the episode that the environment itself
// does not see. Metrics are GEM's tool_use_counter and tool_success_counter, and the previous episode's as metrics
// of Reset.
//
// As in GEM the first tool counts that finds a call and does not fail. If all fail, the first of them counts; GEM
// takes the last tool even if it found no call, and loses the one before.
type Tools struct {
	ctx      context.Context // ends calls; steps have no context of their own
	inner    Env
	tools    []Tool
	o        ToolOptions
	playing  bool
	uses, ok int
}

// NewTools puts tools around an environment. Calls end with ctx. The options must pass Check.
func NewTools(ctx context.Context, inner Env, tools []Tool, o ToolOptions) *Tools {
	return &Tools{ctx: ctx, inner: inner, tools: tools, o: o}
}

// Reset begins an episode; the instructions of the tools follow its task.
func (t *Tools) Reset(seed uint64) (Observation, error) {
	o, err := t.inner.Reset(seed)
	if err != nil {
		return Observation{}, err
	}
	var texts []string
	for _, tool := range t.tools {
		texts = append(texts, tool.Instruction())
	}
	all := strings.Join(texts, "\n")
	if len(texts) > 1 {
		all = "Available tools:\n" + all
	}
	if o.Text += "\n" + all; o.Tools != nil {
		o.Plain += "\n" + all
	}
	o.Metrics = with(o.Metrics, "prev_ep_tool_use_counter", float64(t.uses), "prev_ep_tool_success_counter",
		float64(t.ok))
	t.uses, t.ok, t.playing = 0, 0, true
	o.Metrics = t.counted(o.Metrics)
	return o, nil
}

// counted adds the counters to metrics.
func (t *Tools) counted(m map[string]float64) map[string]float64 {
	return with(m, "tool_use_counter", float64(t.uses), "tool_success_counter", float64(t.ok))
}

// Step carries out a call, or plays the action if there is none in it.
func (t *Tools) Step(action string) (Transition, error) {
	var use ToolUse
	if t.playing && (t.o.MaxUses == 0 || t.uses < t.o.MaxUses) {
		var err error
		if use, err = t.use(action); err != nil {
			return Transition{}, err
		}
	}
	if !use.Called {
		s, err := t.inner.Step(action)
		if err != nil {
			return Transition{}, err
		}
		s.Metrics = t.counted(s.Metrics)
		t.playing = !s.Done()
		return s, nil
	}
	s := Transition{Reward: t.reward(use)}
	t.uses++
	if !use.Failed {
		t.ok++
	}
	if t.uses == t.o.MaxUses {
		use.Text += lastUse
	}
	s.Observation = Observation{Text: use.Text, Action: use.Action, Tool: true, Metrics: t.counted(nil)}
	return s, nil
}

// use asks the tools in order.
func (t *Tools) use(action string) (found ToolUse, err error) {
	for _, tool := range t.tools {
		use, err := tool.Use(t.ctx, action)
		if err != nil {
			return ToolUse{}, err
		}
		if use.Called && !use.Failed {
			return use, nil
		}
		if use.Called && !found.Called {
			found = use
		}
	}
	return found, nil
}

// reward is the reward of a call.
func (t *Tools) reward(use ToolUse) float64 {
	switch {
	case use.Failed && t.o.ErrorReward != 0:
		return t.o.ErrorReward
	case use.Failed:
		return t.o.Reward
	}
	return t.o.Reward + t.o.SuccessReward
}

// Fork copies the counters and forks the environment; the tools are shared.
func (t *Tools) Fork() Env {
	c := *t
	c.inner = t.inner.Fork()
	return &c
}

// SampleAction asks the environment: a random player uses no tools.
func (t *Tools) SampleAction(r Draws) string { return t.inner.SampleAction(r) }
