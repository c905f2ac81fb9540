// Package workflow turns a task into experiences: it asks the model, grades the answers and says what was measured.
//
// A workflow is a value in the table Workflows, found by its Trinity-RFT name. It knows neither loops nor buffers: it
// gets a Task and a Rollout and returns experiences, or an error that makes the rollout a failed one.
package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Task is one row of a taskset, to be run Repeat times.
type Task struct {
	Batch   string // explore step, or "<step>/<taskset>" of an evaluation
	ID      string // position in the batch
	Index   int    // row of the taskset
	Prompt  string
	Truth   string
	Row     dataset.Row // all columns, for workflows that read more than prompt and truth
	Repeat  int
	Taskset int    // which of several it is a row of
	Variant int    // which of the taskset's Variants runs it; 0: the taskset's own workflow
	Seed    uint64 // everything the task draws derives from it
}

// Rollout has everything that the tasks of a taskset share in one explore step.
type Rollout struct {
	Sampler      tinker.SamplingClient
	Version      int // of the sampler's weights
	Params       tinker.SamplingParams
	Renderer     Renderer
	Reward       reward.Func
	RewardName   string
	RewardArgs   map[string]any
	SystemPrompt string
	ReplyPrefix  string // the beginning of the answer, put into the model's mouth
	MaxPrompt    int    // tokens
	Context      int    // tokens that the model can read and write in all; 0: not known
	Truncate     bool   // an over-long prompt becomes a masked experience; otherwise it is an error
	Args         map[string]any
	Partial      bool   // repetitions that succeed count although others fail
	Grading      *Clock // measures the time of grading; nil: nobody wants to know

	// explorer.auxiliary_models, for workflows that ask a judge
	Judges []Judge
	// a model of an OpenAI-compatible service; nil: none can be reached
	OpenAI func(model, urlEnv, keyEnv string) (Judge, error)

	Environments *env.Registry // for gem_workflow
	Tools        env.Toolbox   // for gem_workflow; nil: there are none
	Chat         env.Renderer  // the model's chat template, for gem_workflow

	Rollouts Rollouts           // for rollout_workflow; nil: nothing serves them
	Carriers map[string]Carrier // for agent_workflow and verifiers_workflow, by Carried.By

	// the rest is for workflows in other languages
	URL    func() (string, error) // where Rollouts are served; nil: nowhere
	Format map[string]any         // the section format of the taskset
	Model  Model
}

// Model tells a workflow about the model.
type Model struct {
	Name      string
	Dir       string   // with its tokenizer
	MaxTokens int      // of prompt and answer together; 0: not known
	Judges    []string // the names of Judges
	Thinking  *bool    // chat_template's enable_thinking; nil: as the template has it
	Ungraded  bool     // experiences may come without a reward: operators give one
}

// Renderer turns messages into what the model reads, and tokens into text.
type Renderer interface {
	// Prompt renders messages up to the point where the model continues: after the generation prompt, or inside the
	// last message if that is the assistant's.
	Prompt(messages []chat.Message) (text string, tokens []int32, err error)
	// Encode returns the tokens of plain text.
	Encode(text string) ([]int32, error)
	// Decode returns the text of tokens without special ones.
	Decode(tokens []int32) string
}

// Workflow runs tasks. Implementations are safe for concurrent use.
type Workflow interface {
	// Run returns the experiences of all repetitions, with rewards. An error means that the attempt failed as a whole.
	Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error)
}

// Foreign is a workflow in another language. It runs only for rollouts, never to see what it would ask, and it may ask
// every auxiliary model.
type Foreign interface{ Foreign() }

// Workflows is the table of workflows by the value of default_workflow_type.
func Workflows() map[string]Workflow {
	return map[string]Workflow{
		"simple_workflow":                 Simple{},
		"async_simple_workflow":           Simple{}, // every workflow is asynchronous here
		"math_workflow":                   Math{},
		"async_math_workflow":             Math{},
		"math_boxed_workflow":             Boxed{},
		"async_math_boxed_workflow":       Boxed{},
		"math_eval_workflow":              MathEval{},
		"async_math_eval_workflow":        MathEval{},
		"math_ruler_workflow":             Ruler{},
		"async_math_ruler_workflow":       Ruler{},
		"math_trainable_ruler_workflow":   TrainableRuler{},
		"rubric_judge_workflow":           Rubric{},
		"rubric_judge_openai_workflow":    Rubric{API: true},
		"frozen_lake_workflow":            FrozenLake{},
		"sudoku_workflow":                 Sudoku{},
		"tool_call_workflow":              ToolCall{},
		"thinking_budget_workflow":        ThinkingBudget{},
		"on_policy_distill_workflow":      Distill{},
		"on_policy_distill_math_workflow": DistillMath{},
		"gem_workflow":                    Gem{},
		"rollout_workflow":                Program{},
		"agent_workflow":                  Carried{By: "agent"},
		"verifiers_workflow":              Carried{By: "verifiers"},
	}
}

// Own has the workflows and rewards that a program adds, by the names that its configurations use.
type Own struct {
	Workflows map[string]Workflow
	Rewards   map[string]reward.Func
	Failed    string // added to the error of an unknown name: parts that could not be loaded; "" for none
}

// New finds a workflow by name.
func New(name string, own Own) (Workflow, error) {
	table := Workflows()
	maps.Copy(table, own.Workflows)
	w, ok := table[name]
	if why := elsewhere(name); !ok && why != "" {
		return nil, fmt.Errorf("workflow: %s is not here: %s; a plug-in file (docs/guide/python.md) or a Go program "+
			"(examples/plugin) can bring its own workflow%s", name, why, own.Failed)
	}
	if !ok {
		return nil, fmt.Errorf("workflow: %q is not known; there are %s; a plug-in file (docs/guide/python.md) or a "+
			"Go program (examples/plugin) can bring its own workflow%s",
			name, strings.Join(slices.Sorted(maps.Keys(table)), ", "), own.Failed)
	}
	return w, nil
}

// Preparer is a workflow that fills in what the configuration leaves open, and refuses what it cannot use. Any other
// workflow needs only a reward function.
type Preparer interface{ Prepare(r *Rollout) error }

// ReadsRows reports whether a workflow reads other columns of a row, so that it needs neither prompt nor answer.
func ReadsRows(w Workflow) bool {
	switch w := w.(type) {
	case interface{ ReadsRows() bool }:
		return w.ReadsRows()
	case FrozenLake, Sudoku, ToolCall, Program, Carried:
		return true
	}
	return false
}

// WithDefaults fills in what a named workflow sets when the configuration leaves it open, and finds its reward
// function.
func WithDefaults(name string, r Rollout, own Own) (Rollout, error) {
	w, err := New(name, own)
	if err != nil {
		return r, err
	}
	p, prepares := w.(Preparer)
	if prepares {
		if err := p.Prepare(&r); err != nil {
			return r, err
		}
	}
	funcs := reward.Funcs()
	maps.Copy(funcs, own.Rewards)
	f, ok := funcs[r.RewardName]
	if r.RewardName == "rm_gallery_reward" && !ok {
		return r, errors.New("workflow: rm_gallery_reward is not here: RM-Gallery is a Python package; " +
			"rubric_judge_workflow asks a judge, and a plug-in file (docs/guide/python.md) can bring its own reward")
	}
	if !ok && (!prepares || r.RewardName != "") {
		return r, fmt.Errorf("workflow: %s needs a reward function, and default_reward_fn_type is %q; there are %s; "+
			"a plug-in file (docs/guide/python.md) or a Go program (examples/plugin) can bring its own reward%s",
			name, r.RewardName, strings.Join(slices.Sorted(maps.Keys(funcs)), ", "), own.Failed)
	}
	r.Reward = f
	return r, nil
}

// mathDefaults sets the defaults of the workflows on mathematics.
func mathDefaults(r *Rollout) error {
	r.RewardName = cmp.Or(r.RewardName, "math_reward")
	if r.RewardName == "math_reward" && r.SystemPrompt == "" {
		r.SystemPrompt = thinkPrompt
	}
	return nil
}
