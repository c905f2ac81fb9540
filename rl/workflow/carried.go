package workflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Carrier carries rollouts out: it starts a program that asks the model at a rollout's URL, and rewards the result. It
// is safe for concurrent use.
type Carrier interface {
	// Check reads workflow_args. It starts nothing.
	Check(args map[string]any) (Carrying, error)
}

// Carrying is a Carrier with its arguments.
type Carrying interface {
	// Limits bound each rollout. Models are the carrier's names of the model, beside its own name.
	Limits() Limits
	// Carry returns when the rollout is over and nothing of it runs any more. An outcome without parts means that the
	// reward was sent to the URL.
	Carry(ctx context.Context, w Work) ([]Part, error)
}

// Work is a rollout to carry out.
type Work struct {
	ID     string // of the rollout
	URL    string // the base URL, which ends with /v1
	Model  string // its name
	Task   Task
	Run    int // which repetition
	Eval   bool
	Seed   uint64
	Params tinker.SamplingParams
}

// Carried is agent_workflow and verifiers_workflow: the run starts a program for each repetition of a task, at a
// separate rollout URL. A repetition gives one experience for each part that has a reward. One that fails is a failed
// attempt, not a reward of 0.
type Carried struct{ By string }

// name is the workflow's.
func (c Carried) name() string { return c.By + "_workflow" }

// Named reports whether the workflow has that name.
func (c Carried) Named(name string) bool { return name == c.name() }

// Names that every rollout knows its model by.
const anyModel = "policy"

// The defaults of what a rollout may ask.
const (
	carriedTokens  = 1 << 16
	carriedCalls   = 1000
	carriedTimeout = 600.0
)

// Arguments are workflow_args as a carrier reads them: each by its name, with its default.
type Arguments interface {
	Int(name string, def, least int) int
	Float(name string, def float64) float64
	// Require records that a value must be what want says, unless ok.
	Require(ok bool, name string, value any, want string)
}

// ReadLimits reads the arguments that all carriers have: max_tokens (65,536 in all calls), max_calls (1000), timeout
// in seconds (600).
func ReadLimits(given Arguments) (l Limits, timeout time.Duration) {
	l.Tokens, l.Calls = given.Int("max_tokens", carriedTokens, 1), given.Int("max_calls", carriedCalls, 1)
	return l, readTimeout(given)
}

func readTimeout(given Arguments) time.Duration {
	seconds := given.Float("timeout", carriedTimeout)
	given.Require(seconds > 0 && seconds < 1e9, "timeout", seconds, "seconds above 0")
	return time.Duration(seconds * float64(time.Second))
}

// check reads workflow_args.
func (c Carried) check(r *Rollout) (Carrying, error) {
	by := r.Carriers[c.By]
	if by == nil {
		return nil, fmt.Errorf("workflow: %s can start nothing here", c.name())
	}
	carrying, err := by.Check(r.Args)
	if err != nil {
		return nil, fmt.Errorf("workflow: %s: workflow_args.%w", c.name(), err)
	}
	return carrying, nil
}

// Prepare implements Preparer: what carries a rollout out rewards it.
func (c Carried) Prepare(r *Rollout) error {
	_, err := c.check(r)
	return err
}

// Run implements Workflow.
func (c Carried) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	carrying, err := c.check(r)
	if err != nil {
		return nil, tinker.Userf("%w", err)
	}
	if r.Rollouts == nil || r.URL == nil {
		return nil, tinker.Userf("workflow: %s needs rollout URLs, and nothing serves them here; trinity run does, "+
			"in the modes both, explore and bench", c.name())
	}
	base, err := r.URL()
	if err != nil {
		return nil, err
	}
	return Repeat(ctx, r, t.Repeat, func(ctx context.Context, run int) ([]*experience.Experience, error) {
		return c.carry(ctx, r, t, run, base, carrying)
	})
}

// carry carries one repetition out.
func (c Carried) carry(ctx context.Context, r *Rollout, t Task, run int, base string, by Carrying) (
	[]*experience.Experience, error) {
	limits := by.Limits()
	limits.Models = append([]string{r.Model.Name, anyModel}, limits.Models...)
	o := r.opening(t, run)
	o.Private, o.Limits = true, limits
	offered, err := r.Rollouts.Open(o)
	if err != nil {
		return nil, err
	}
	defer offered.Close()
	parts, err := by.Carry(ctx, Work{ID: offered.ID(), URL: base + "/rollouts/" + offered.ID() + "/v1",
		Model: r.Model.Name, Task: t, Run: run, Eval: o.Eval, Seed: o.Seed, Params: r.Params})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var list []*experience.Experience
	if err == nil {
		list, err = offered.Grade(ctx, parts)
	}
	if err != nil {
		return nil, withSpending(err, offered.Calls(), limits)
	}
	for i, e := range list {
		e.EID = experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Step: i, Suffix: experience.Suffix(o.Seed)}
		r.Stamp(e, t)
	}
	return list, nil
}

// withSpending adds to an error that the rollout had spent what it may.
func withSpending(err error, calls []Answer, l Limits) error {
	sampled := 0
	for _, c := range calls {
		sampled += len(c.Sampled)
	}
	switch {
	case l.Tokens > 0 && sampled >= l.Tokens:
		return fmt.Errorf("%w (it had spent its %d tokens; workflow_args.max_tokens allows more)", err, l.Tokens)
	case l.Calls > 0 && len(calls) >= l.Calls:
		return fmt.Errorf("%w (it had made its %d calls; workflow_args.max_calls allows more)", err, l.Calls)
	}
	return err
}

// AddMetrics adds what a part measured to an experience.
func (p Part) AddMetrics(e *experience.Experience) {
	if len(p.Metrics) == 0 {
		return
	}
	if e.Metrics == nil {
		e.Metrics = map[string]float64{}
	}
	maps.Copy(e.Metrics, p.Metrics)
}

// ErrNothingTrained is the error of parts none of which has a call.
var ErrNothingTrained = errors.New("none of its answers is to be trained")
