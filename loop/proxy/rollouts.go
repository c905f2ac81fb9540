package proxy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Limits of the rollouts that are open at a time, and of those that are remembered because they are over.
const (
	mostOpen     = 1 << 16
	mostBytes    = 1 << 30 // of their calls
	mostFinished = 1 << 16
)

// rollouts are the rollouts of a run by their ids. It is safe for concurrent use.
type rollouts struct {
	// begin makes a rollout on its first use; nil: only Open makes rollouts.
	begin func(ctx context.Context, id string) (*rollout, error)
	now   func() time.Time
	// work says that somebody opens rollouts for programs to take.
	work bool

	mu       sync.Mutex
	open     map[string]*rollout
	byAnswer map[string]*rollout // by the ids of their answers
	waiting  []*rollout          // nobody has taken them
	came     chan struct{}       // closed and replaced when one is added to waiting
	finished map[string]finished
	order    []string // of finished
	bytes    int
	look     time.Time // when to look for idle ones again
}

func newRollouts(now func() time.Time) *rollouts {
	return &rollouts{now: now, open: map[string]*rollout{}, byAnswer: map[string]*rollout{}, came: make(chan struct{}),
		finished: map[string]finished{}}
}

// errNotOpen is the error of an id that means nothing.
func (s *rollouts) errNotOpen(id string) error {
	how := "rollout_workflow opens rollouts, and POST /rollouts/next hands them out"
	if !s.work {
		how = "no taskset of this run has default_workflow_type: rollout_workflow, which opens rollouts"
	}
	return problem(http.StatusNotFound, "rollout_not_found", "rollout %q is not open; %s", id, how)
}

// find returns an open rollout. If create is true and the mode allows it, an unknown one begins.
func (s *rollouts) find(ctx context.Context, id string, create bool) (*rollout, error) {
	if r, err := s.known(id); r != nil || err != nil {
		return r, err
	}
	switch {
	case s.begin == nil:
		return nil, s.errNotOpen(id)
	case len(id) > mostID:
		return nil, bad("the rollout's id has %d bytes; it may have %d", len(id), mostID)
	}
	s.giveUpIdle()
	r, err := s.begin(ctx, id) // which knows those that were finished before a restart
	if err != nil {
		return nil, err
	}
	r.opened = s.now()
	if !create {
		return nil, problem(http.StatusNotFound, "rollout_not_found", "rollout %q is not open; its first call of the "+
			"model opens it", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.open[id]; other != nil {
		return other, nil
	}
	if len(s.open) >= mostOpen && !s.dropUnused() {
		return nil, errFull(fmt.Sprintf("%d rollouts are open", mostOpen))
	}
	s.open[id] = r
	return r, nil
}

// dropUnused drops the rollouts that have no call, and reports whether there were any. The caller holds mu.
func (s *rollouts) dropUnused() bool {
	used := map[*rollout]bool{}
	for _, r := range s.byAnswer {
		used[r] = true
	}
	before := len(s.open)
	maps.DeleteFunc(s.open, func(_ string, r *rollout) bool {
		if !used[r] {
			r.end(s.errNotOpen(r.id))
		}
		return !used[r]
	})
	return len(s.open) < before
}

// known returns a rollout that is open, or why it is over.
func (s *rollouts) known(id string) (*rollout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id], s.finished[id].why
}

// context is the context of a rollout's model in tokens, 0 if that is not known.
func (s *rollouts) context(id string) int {
	if r, _ := s.known(id); r != nil {
		return r.context
	}
	return 0
}

// mostID is the length of an id in bytes.
const mostID = 1024

// errFull refuses more rollouts.
func errFull(what string) error {
	return fmt.Errorf("proxy: %s; reward some, or DELETE /sessions/ID: %w", what, tinker.ErrBusy)
}

// grow counts the memory of a call.
func (s *rollouts) grow(r *rollout, answer string, bytes int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+bytes > mostBytes {
		return errFull(fmt.Sprintf("the calls of open rollouts take %d MiB", mostBytes>>20))
	}
	s.bytes += bytes
	s.byAnswer[answer] = r
	return nil
}

// remove forgets the calls of a rollout that is over for that reason; nil: it may be opened again.
func (s *rollouts) remove(r *rollout, why error) {
	r.end(cmp.Or(why, s.errNotOpen(r.id)))
	if !s.close(r, why) {
		return // another call removes it
	}
	answers, bytes := r.forget() // without mu: a call that is added takes it
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= bytes
	if why == nil {
		s.forget(answers)
		return
	}
	s.finished[r.id] = finished{why, answers}
	if s.order = append(s.order, r.id); len(s.order) > mostFinished {
		s.forget(s.finished[s.order[0]].answers)
		delete(s.finished, s.order[0])
		s.order = s.order[1:]
	}
}

// end ends all open rollouts.
func (s *rollouts) end(why error) {
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.open))
	s.mu.Unlock()
	for _, r := range open {
		s.remove(r, why)
	}
}

// close takes a rollout from the open ones and notes why, unless that was done.
func (s *rollouts) close(r *rollout, why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[r.id] != r {
		return false
	}
	delete(s.open, r.id)
	if why != nil {
		s.finished[r.id] = finished{why: why}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w *rollout) bool { return w == r })
	return true
}

// forget drops the names of answers. The caller holds mu.
func (s *rollouts) forget(answers []string) {
	for _, id := range answers {
		delete(s.byAnswer, id)
	}
}

// finished is a rollout that is over.
type finished struct {
	why     error
	answers []string
}

// ofAnswers returns the rollout that all the answers belong to; nil if none of them belongs to one.
func (s *rollouts) ofAnswers(ids []string) (*rollout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byAnswer[ids[0]]
	for _, id := range ids {
		if s.byAnswer[id] != r {
			return nil, problem(http.StatusConflict, "mixed_msg_ids", "msg_ids: %s and %s are not of one rollout; "+
				"give each rollout a reward of its own", ids[0], id)
		}
	}
	return r, nil
}

// Open implements workflow.Rollouts.
func (s *rollouts) Open(o workflow.Opening) (workflow.Offered, error) {
	row, err := o.Row.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("proxy: rollout %s: %w", o.Name, err)
	}
	// a program that still carries an earlier attempt out does not meet this one
	r := newRollout(o.Name + "-" + random(4))
	offered := &offer{rollout: r, all: s, done: make(chan *experience.Experience, 1)}
	r.task, r.eval, r.params, r.context, r.limits = row, o.Eval, o.Params, o.Context, o.Limits
	r.player = o.Player
	r.sampling = func() (tinker.SamplingClient, int, error) { return o.Sampler, o.Version, nil }
	r.seed = r.seeds(o.Seed)
	r.finish = func(_ context.Context, e *experience.Experience, _ grade) error {
		offered.done <- e
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[r.id] = r
	if o.Private {
		return offered, nil
	}
	s.waiting = append(s.waiting, r)
	close(s.came)
	s.came = make(chan struct{})
	return offered, nil
}

// offer implements workflow.Offered.
type offer struct {
	*rollout
	all  *rollouts
	done chan *experience.Experience
}

// Wait implements workflow.Offered.
func (o *offer) Wait(ctx context.Context) (*experience.Experience, error) {
	select {
	case e := <-o.done:
		return e, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-o.ctx.Done():
	}
	select {
	case e := <-o.done: // the reward ended it
		return e, nil
	default:
		return nil, fmt.Errorf("proxy: rollout %s: %w", o.id, o.over())
	}
}

// Close implements workflow.Offered.
func (o *offer) Close() {
	o.mu.Lock() // a reward that is being given ends the rollout first
	why := o.over()
	o.mu.Unlock()
	if why == nil {
		why = problem(http.StatusNotFound, "rollout_not_found", "rollout %q is not open any more: it had no reward in "+
			"time, or the run went on without it", o.id)
	}
	o.all.remove(o.rollout, why)
}

// ID implements workflow.Offered.
func (o *offer) ID() string { return o.id }

// Calls implements workflow.Offered.
func (o *offer) Calls() []workflow.Answer {
	var list []workflow.Answer
	for _, c := range o.calls() {
		list = append(list, workflow.Answer{Text: c.text, Heard: c.heard, Prompt: c.prompt, Sampled: c.sampled,
			Logprobs: c.logprobs, Stop: c.stop})
	}
	return list
}

// take waits until there is a rollout that nobody has taken, and returns nil when ctx ends.
func (s *rollouts) take(ctx context.Context) *rollout {
	for {
		s.mu.Lock()
		if len(s.waiting) > 0 {
			r := s.waiting[0]
			s.waiting = s.waiting[1:]
			s.mu.Unlock()
			return r
		}
		came := s.came
		s.mu.Unlock()
		select {
		case <-came:
		case <-ctx.Done():
			return nil
		}
	}
}
