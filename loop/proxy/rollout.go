package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// rollout is one session of a program: its calls, until it is rewarded or given up. It is safe for concurrent use.
type rollout struct {
	id   string
	task json.RawMessage // the raw row; nil: none
	eval bool
	// sampling returns the weights of the next call.
	sampling func() (tinker.SamplingClient, int, error)
	params   tinker.SamplingParams
	seed     func(a *endpoint.Asked) (uint64, error)
	context  int // tokens; 0: not known
	limits   workflow.Limits
	player   workflow.Player // answers in place of weights; nil: weights do
	// finish is called once with the whole rollout when the reward arrives; if it fails, there was no reward.
	finish func(ctx context.Context, e *experience.Experience, g grade) error

	opened time.Time       // by its first call
	ctx    context.Context // of its calls
	end    context.CancelCauseFunc

	mu      sync.Mutex
	tree    tree
	asked   map[uint64]int // how often a prompt was asked, by its hash
	bytes   int            // of its calls
	sampled int            // tokens of its calls
	begun   int            // calls
}

// grade is a program's verdict on its rollout.
type grade struct {
	reward float64
	task   string
	run    int
}

// newRollout returns a rollout that is open.
func newRollout(id string) *rollout {
	r := &rollout{id: id, asked: map[uint64]int{}}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	return r
}

// errRewarded is the state of a rollout that is complete.
func errRewarded(id string) error {
	return problem(http.StatusConflict, "rollout_finished", "rollout %q has its reward; it takes no more calls and no "+
		"other reward", id)
}

// over is why the rollout takes no more calls, nil if it does.
func (r *rollout) over() error { return context.Cause(r.ctx) }

// reward grades the rollout and ends it.
func (r *rollout) reward(ctx context.Context, g grade) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.over(); err != nil {
		return err
	}
	if !experience.Finite(g.reward) {
		return bad("reward is %v; it must be a finite number", g.reward)
	}
	if len(r.tree.calls) == 0 {
		return problem(http.StatusConflict, "rollout_empty", "rollout %q has no call yet to reward; "+
			"DELETE /sessions/%s gives it up", r.id, r.id)
	}
	e := r.tree.experience()
	e.SetReward(g.reward)
	if err := r.finish(ctx, e, g); err != nil {
		return err
	}
	r.end(errRewarded(r.id))
	return nil
}

// forget drops the calls of a rollout that is over, and returns their answers' ids and their size.
func (r *rollout) forget() (answers []string, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.tree.calls {
		answers = append(answers, c.id)
	}
	bytes = r.bytes
	r.tree, r.bytes = tree{}, 0
	return answers, bytes
}

// calls returns the calls so far.
func (r *rollout) calls() []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*call(nil), r.tree.calls...)
}

// seeds returns the seeds of a rollout's calls. They depend on the prompt and how often it was asked before, and so
// not on the order in which calls that run at the same time arrive.
func (r *rollout) seeds(seed uint64) func(*endpoint.Asked) (uint64, error) {
	return func(a *endpoint.Asked) (uint64, error) {
		h := noHash
		for _, id := range a.Prompts[0] {
			for shift := 0; shift < 32; shift += 8 {
				h = hash(h, byte(id>>shift))
			}
		}
		n := r.asked[h]
		r.asked[h]++
		s := rng.New(seed^h).Stream("call", n)
		return s.Uint64(), nil
	}
}

// taker records the calls of a rollout. It implements endpoint.Keeper.
type taker struct {
	rollout *rollout
	session string
	version int
	text    *endpoint.Text
	now     func() time.Time
	begun   time.Time
	grow    func(r *rollout, answer string, bytes int) error

	asked  bool   // Prompt was called
	prompt string // as text
	parent *call
}

// Prompt implements endpoint.Keeper: it continues the calls of the rollout.
func (k *taker) Prompt(text string, encode func(string) ([]int32, error)) (ids []int32, err error) {
	k.rollout.mu.Lock()
	defer k.rollout.mu.Unlock()
	k.asked, k.prompt = true, text
	ids, k.parent, err = k.rollout.tree.next(text, encode)
	return ids, err
}

// Params implements endpoint.Keeper: sampling is the run's. A request may ask for fewer tokens than the run allows, and
// for further stops.
func (k *taker) Params(a *endpoint.Asked) (overrode []string, err error) {
	if len(a.Prompts) != 1 {
		return nil, bad("there are %d prompts; in a rollout each must be a request of its own", len(a.Prompts))
	}
	if a.N != 1 {
		return nil, &endpoint.Error{Status: http.StatusBadRequest, Type: invalidRequest, Param: "n",
			Message: "n is above 1; in a rollout each call has one answer, so send as many requests"}
	}
	if err := a.OwnDistribution(); err != nil {
		return nil, err
	}
	r, p, was := k.rollout, a.Params, *a.Params
	if r.player != nil {
		if err := (played{}).allows(a); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.spend(); err != nil {
		return nil, err
	}
	if !k.asked {
		k.parent = r.tree.extended(a.Prompts[0])
	}
	seed, err := r.seed(a)
	if err != nil {
		return nil, err
	}
	p.Temperature, p.TopP, p.TopK, p.MinP, p.Seed = r.params.Temperature, r.params.TopP, r.params.TopK, r.params.MinP,
		&seed
	p.NoStop = false
	if most := r.params.MaxTokens; !a.Gives(lengths...) || most > 0 && p.MaxTokens > most {
		p.MaxTokens = most
	}
	for _, x := range []struct {
		name    string
		changed bool
	}{
		{"temperature", was.Temperature != p.Temperature}, {"top_p", was.TopP != p.TopP},
		{"top_k", was.TopK != p.TopK}, {"min_p", was.MinP != p.MinP}, {"seed", was.Seed == nil || *was.Seed != seed},
		{"ignore_eos", was.NoStop}, {"max_tokens", was.MaxTokens != p.MaxTokens},
		{"max_completion_tokens", was.MaxTokens != p.MaxTokens}, {"max_output_tokens", was.MaxTokens != p.MaxTokens},
	} {
		if x.changed && a.Gives(x.name) {
			overrode = append(overrode, x.name)
		}
	}
	end(a, r.params)
	r.bound(p)
	return overrode, nil
}

// Record implements endpoint.Keeper.
func (k *taker) Record(ctx context.Context, kept endpoint.Kept) error {
	r, q := k.rollout, kept.Sequences[0]
	c := &call{id: kept.ID, session: k.session, parent: k.parent, prompt: kept.Prompt, sampled: q.Tokens,
		logprobs: q.Logprobs,
		text:     kept.Text, heard: k.text.Tokenizer.Decode(q.Tokens, true), stop: q.StopReason, version: k.version,
		messages: kept.Messages, message: kept.Message(0), begun: k.begun, took: k.now().Sub(k.begun)}
	size := 4*len(c.prompt) + 8*len(c.sampled) + len(c.text) + len(c.heard) + len(c.messages) + len(c.message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmp.Or(r.over(), ctx.Err()); err != nil {
		return err
	}
	// calls at the same time; a player does not know of the limit
	if n := r.limits.Tokens; n > 0 && r.sampled+len(c.sampled) > n && r.player == nil {
		return r.errSpent()
	}
	if err := k.grow(r, c.id, size); err != nil {
		return err
	}
	r.bytes += size
	r.sampled += len(c.sampled)
	r.tree.add(c)
	return nil
}
