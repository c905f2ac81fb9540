package workflow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Rollouts lets programs outside of this process carry rollouts out. It is safe for concurrent use.
type Rollouts interface {
	// Open offers a rollout to programs, which ask for work or know the URL. The caller calls Close.
	Open(o Opening) (Offered, error)
}

// Opening is a rollout to carry out.
type Opening struct {
	Name    string // a beginning of the rollout's id
	Row     dataset.Row
	Eval    bool // it is of an evaluation
	Sampler tinker.SamplingClient
	Version int                   // of the sampler's weights
	Params  tinker.SamplingParams // of all calls, whatever the program asks for
	Context int                   // tokens; 0: not known
	Seed    uint64                // what the answers draw derives from it and the prompts
	Private bool                  // only who knows the URL carries it out
	Limits  Limits
	Player  Player // answers in place of Sampler; nil: Sampler does
}

// Player answers a call of the model: the prompt as text, of the session that the call's header X-Session-ID names.
type Player func(ctx context.Context, session, prompt string) (answer string, err error)

// Limits bound what a rollout may ask of the model. The zero value bounds nothing.
type Limits struct {
	Tokens int      // that are sampled in all calls; 0: any number
	Calls  int      // 0: any number
	Models []string // names that calls may use; nil: any
}

// Offered is a rollout that programs can carry out.
type Offered interface {
	// Wait waits for the reward and returns the rollout as one experience, which has no EID yet.
	Wait(ctx context.Context) (*experience.Experience, error)
	// Close ends the rollout, whether it has a reward or not: its calls fail from now on.
	Close()
	// ID is the part of the rollout's URL that names it: URL()/rollouts/ID/v1.
	ID() string
	// Calls are the answers so far, in the order in which they were complete.
	Calls() []Answer
	// Grade ends the rollout and makes an experience of each part that has calls; they have no EID yet. Without parts
	// it takes the reward that was sent to the rollout's URL, which one that was sent is an error for otherwise.
	Grade(ctx context.Context, parts []Part) ([]*experience.Experience, error)
}

// Part is a separately rewarded part of a rollout: the calls of one session.
type Part struct {
	Session string // the header X-Session-ID of its calls; "" means all calls of the rollout
	Reward  float64
	Metrics map[string]float64
}

// Answer is one answer that the model gave.
type Answer struct {
	Text     string // the prompt
	Heard    string // the answer
	Prompt   []int32
	Sampled  []int32
	Logprobs []float32 // of Sampled
	Stop     tinker.StopReason
}

// Outside reports whether what carries a workflow's rollouts out makes the prompts, so that none is known before.
func Outside(w Workflow) bool {
	switch w.(type) {
	case Program, Carried:
		return true
	}
	return false
}

// Program is rollout_workflow: each repetition of a task is a rollout that a program of any kind carries out. The
// program gets the raw row and a URL with OpenAI's interface, asks the model there as often as it likes, and sends the
// reward. workflow_args are
//
//	timeout   seconds from the opening of a rollout to its reward (600)
//
// A repetition is one experience, with all its calls. One without a reward in time is a failed attempt.
type Program struct{}

// readProgramArgs reads workflow_args.
func readProgramArgs(r *Rollout) (time.Duration, error) {
	given := arg.Read(r.Args)
	timeout := readTimeout(given)
	if err := given.Close(); err != nil {
		return 0, fmt.Errorf("workflow: rollout_workflow: workflow_args.%w", err)
	}
	return timeout, nil
}

// Prepare implements Preparer: the program rewards.
func (Program) Prepare(r *Rollout) error {
	_, err := readProgramArgs(r)
	return err
}

// Run implements Workflow.
func (Program) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	timeout, err := readProgramArgs(r)
	if err != nil {
		return nil, tinker.Userf("%w", err)
	}
	if r.Rollouts == nil {
		return nil, tinker.Userf("workflow: rollout_workflow needs programs that carry its rollouts out, and nothing " +
			"serves their URLs here; trinity run --rollouts ADDRESS does, in the modes both, explore and bench")
	}
	return Repeat(ctx, r, t.Repeat, func(ctx context.Context, run int) ([]*experience.Experience, error) {
		e, err := carryOut(ctx, r, t, run, timeout)
		if err != nil {
			return nil, err
		}
		return []*experience.Experience{e}, nil
	})
}

// opening is the rollout of one repetition of a task.
func (r *Rollout) opening(t Task, run int) Opening {
	return Opening{Name: fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(t.Batch, "/", "-"), t.ID, run), Row: t.Row,
		Eval: strings.HasPrefix(t.Batch, "eval/"), Sampler: r.Sampler, Version: r.Version, Params: r.Params,
		Context: r.Context, Seed: t.Seed + uint64(run)}
}

// carryOut waits for one repetition.
func carryOut(ctx context.Context, r *Rollout, t Task, run int, timeout time.Duration) (*experience.Experience, error) {
	o := r.opening(t, run)
	offered, err := r.Rollouts.Open(o)
	if err != nil {
		return nil, err
	}
	defer offered.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("workflow: rollout_workflow: no reward within %v "+
		"(workflow_args.timeout)", timeout))
	defer cancel()
	e, err := offered.Wait(ctx)
	if err != nil {
		return nil, err
	}
	e.EID = experience.EID{Batch: t.Batch, Task: t.ID, Run: run, Suffix: experience.Suffix(o.Seed)}
	r.Stamp(e, t)
	return e, nil
}
