// Package spread gives parts of training requests and ranges of samples to the executors of a pool, beside this
// process.
package spread

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// With a pool, the parts of a training request are computed by this process and by other machines at the same time:
// each takes the next part when it is free. Results are used in the order of the parts, so they have the bits of one
// process, and so do errors: what fails elsewhere is computed here, and its error is the request's.

// Spreader gives work to a pool, beside the compute loop and the scheduler of this process.
type Spreader struct {
	Options

	mu      sync.Mutex
	perTok  [2]float64 // seconds that this process takes per token of a forward and of a gradient; 0: not measured
	samples sampleShares
}

// Options configure a spreader.
type Options struct {
	Pool      executor.Pool
	PoolOnly  bool   // the pool computes what it can while it has executors
	PoolBytes int64  // gradients of parts that wait for an earlier one
	Numerics  string // full name of the arithmetic
	Loop      *compute.Loop
	Scheduler *sampler.Scheduler
	Backlog   *fair.Backlog // of samples
	Group     *lifetime.Group
	Log       *slog.Logger
}

func New(o Options) *Spreader { return &Spreader{Options: o} }

// took records how long a part took here.
func (s *Spreader) took(backward bool, tokens int, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := &s.perTok[passKind(backward)]
	if per := d.Seconds() / float64(max(1, tokens)); *at == 0 {
		*at = per
	} else {
		*at += float64((per - *at) / 4)
	}
}

// patience is how long a part may be under way elsewhere before this process, if it has nothing else to do, computes it
// too.
func (s *Spreader) patience(backward bool, tokens int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	per := cmp.Or(s.perTok[passKind(backward)], 0.01)
	return time.Second + time.Duration(2*per*float64(tokens)*float64(time.Second))
}

func passKind(backward bool) int {
	if backward {
		return 1
	}
	return 0
}

// Spreads reports whether a request of so many parts is spread over the pool; s may be nil, which is no pool.
func (s *Spreader) Spreads(parts int) bool { return s != nil && (parts > 1 || s.PoolOnly) }

// Work is a training request in parts.
type Work struct {
	Member  *compute.Member // of the run that asks
	Version *weights.Version
	Request tinker.ForwardRequest
	Loss    loss.Loss
	Parts   [][]compute.Item
	Grads   *model.Grads                  // the run's, whose tensors a part's gradient has; nil: no gradient
	Collect func(executor.Gradient) error // takes the gradients in the order of the parts
}

func (w Work) backward() bool { return w.Grads != nil }

// request is a request under way. The goroutine that calls train owns it.
type request struct {
	*Spreader
	work     Work
	ctx      context.Context   // ends with the request
	receipts executor.Receipts // of the pool's results that are used
	name     executor.Version  // of the weights

	parts   []part
	next    int // first part that is not begun
	used    int // parts whose results are used
	window  int // parts that may be begun beyond used
	here    int // part that this process computes; -1: none
	results chan partResult
}

// part is a part under way.
type part struct {
	items   []compute.Item
	tokens  int
	sent    time.Time // when it was given to the pool; zero: it was not
	away    bool      // the pool computes it
	refused bool      // the pool failed at it
	result  *partResult
}

// partResult is the result of a part.
type partResult struct {
	part     int
	here     bool
	outputs  []executor.Output
	gradient executor.Gradient
	receipts *executor.Receipts // of the pool
	err      error
}

// Train computes the items of w in parts and has their gradients collected, in order. It fails with ErrDoubted if the
// results must be computed again.
func (s *Spreader) Train(w Work) error {
	name, err := w.Version.Identify(s.Pool, s.Numerics)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(executor.WithTenant(s.Group.Context(), w.Member.Owner))
	defer cancel()
	r := &request{Spreader: s, work: w, ctx: ctx, name: name, here: -1, window: s.window(w.Grads),
		results: make(chan partResult, 2*len(w.Parts))}
	for _, items := range w.Parts {
		r.parts = append(r.parts, part{items: items, tokens: compute.Tokens(items)})
	}
	for r.used < len(r.parts) {
		changed := s.Pool.Changed()
		if err := r.begin(); err != nil {
			return err
		}
		if err := r.wait(changed); err != nil {
			return err
		}
		if err := r.use(); err != nil {
			return err
		}
	}
	if !r.receipts.Use() {
		s.Log.Warn("engine: a machine was found to be wrong; what it gave to this request is computed again",
			"model", w.Member.ID)
		return ErrDoubted
	}
	return nil
}

// ErrDoubted means that results were used that are not trusted any more.
var ErrDoubted = errors.New("engine: results are not trusted any more")

// window is how many parts may be under way or wait for an earlier one.
func (s *Spreader) window(grads *model.Grads) int {
	if grads == nil {
		return 1 << 10
	}
	bytes := int64(1)
	for _, a := range grads.Accumulators() {
		bytes += 4 * int64(len(a))
	}
	return int(min(1<<10, max(2, s.PoolBytes/bytes)))
}

// begin gives out the parts that somebody is free for.
func (s *request) begin() error {
	if s.Group.Closing() {
		return lifetime.Closed()
	}
	if i := s.forHere(); i >= 0 {
		items, tokens := compute.Apart(s.parts[i].items), s.parts[i].tokens
		if !s.Group.Start(func() { s.computeHere(i, items, tokens) }) {
			return lifetime.Closed()
		}
		s.here = i
	}
	for ; s.mayBegin() && s.underWay() < s.most() && s.Pool.Room() > 0; s.next++ {
		i, b := s.next, compute.Batch(s.work.Request, s.parts[s.next].items)
		s.parts[i].sent, s.parts[i].away = time.Now(), true
		if !s.Group.Start(func() { s.computeAway(i, b) }) {
			return lifetime.Closed()
		}
	}
	return nil
}

// underWay is how many parts the pool has.
func (s *request) underWay() (n int) {
	for i := s.used; i < s.next; i++ {
		if s.parts[i].away {
			n++
		}
	}
	return n
}

// most is how many parts the pool may have: one that is computed and one that waits for each executor, and no waiting
// ones at the end of a request, so that everybody ends at about the same time.
func (s *request) most() int {
	n := s.Pool.Executors()
	if len(s.parts)-s.next <= n+1 {
		return n
	}
	return 2 * n
}

func (s *request) mayBegin() bool { return s.next < len(s.parts) && s.next < s.used+s.window }

// forHere is the part that this process computes next; -1 is none.
func (s *request) forHere() int {
	if s.here >= 0 {
		return -1
	}
	for i := s.used; i < s.next; i++ {
		p := &s.parts[i]
		late := p.away && !s.PoolOnly && time.Since(p.sent) > s.patience(s.work.backward(), p.tokens) && !s.mayBegin()
		if p.result == nil && (p.refused || late) {
			return i
		}
	}
	if s.mayBegin() && (!s.PoolOnly || s.Pool.Executors() == 0) {
		s.next++
		return s.next - 1
	}
	return -1
}

// wait waits for a result, or until somebody may be free.
func (s *request) wait(changed <-chan struct{}) error {
	var late <-chan time.Time
	if s.here < 0 && !s.PoolOnly {
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case res := <-s.results:
		s.note(res)
	case <-changed:
	case <-late:
	case <-s.Group.Context().Done():
		return lifetime.Closed()
	}
	return nil
}

// note records a result. The first one of a part counts.
func (s *request) note(res partResult) {
	p := &s.parts[res.part]
	if res.here {
		s.here = -1
	} else {
		p.away = false
	}
	switch {
	case p.result != nil:
	case res.here || res.err == nil:
		p.result = &res
	default:
		p.refused = true
		s.Log.Warn("engine: a part that failed elsewhere is computed here", "model", s.work.Member.ID, "part", res.part,
			"error", res.err)
	}
}

// use takes the results that are next in order.
func (s *request) use() error {
	for s.used < len(s.parts) && s.parts[s.used].result != nil {
		p := &s.parts[s.used]
		if p.result.err != nil {
			return p.result.err
		}
		compute.Fill(p.items, p.result.outputs)
		if s.work.backward() {
			if err := s.work.Collect(p.result.gradient); err != nil {
				return err
			}
		}
		if p.result.receipts != nil {
			s.receipts.Add(p.result.receipts)
		}
		p.result = &partResult{} // its memory is free
		s.used++
	}
	return nil
}

// computeHere computes a part on this process's threads, beside others of the request, at the same share.
func (s *request) computeHere(i int, items []compute.Item, tokens int) {
	res := partResult{part: i, here: true}
	var into *model.Grads
	if s.work.backward() {
		into = model.NewGrads(s.work.Grads.T)
	}
	m := s.work.Member.Aside()
	defer s.Loop.Idle(m)
	since := time.Now()
	if res.err = s.Loop.Run(s.ctx, m, s.work.Version, s.work.Loss, items, into); res.err == nil {
		s.took(into != nil, tokens, time.Since(since))
		if res.outputs = compute.Outputs(items); into != nil {
			res.gradient = into.Independent()
		}
	}
	s.results <- res
}

// computeAway has the pool compute a part.
func (s *request) computeAway(i int, b executor.Batch) {
	res := partResult{part: i, receipts: &executor.Receipts{}}
	ctx := executor.WithReceipts(s.ctx, res.receipts)
	if !s.work.backward() {
		res.outputs, res.err = s.Pool.Forward(ctx, s.name, b)
	} else {
		res.outputs, res.gradient, res.err = s.Pool.Gradient(ctx, s.name, b)
		if res.err == nil && !s.work.Grads.Fits(res.gradient) {
			res.err = tinker.Serverf("engine: a gradient of other tensors than the model's")
		}
	}
	s.results <- res
}
