package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// With a pool, the parts of a training request are computed by this process and by other machines at the same time:
// each takes the next part when it is free. Results are used in the order of the parts, so they have the bits of one
// process, and so do errors: what fails elsewhere is computed here, and its error is the request's.

// spreader gives work to a pool, beside the compute loop and the scheduler of this process.
type spreader struct {
	spreadOptions

	mu      sync.Mutex
	perTok  [2]float64 // seconds that this process takes per token of a forward and of a gradient; 0: not measured
	samples sampleShares
}

// spreadOptions configure a spreader.
type spreadOptions struct {
	pool      executor.Pool
	poolOnly  bool   // the pool computes what it can while it has executors
	poolBytes int64  // gradients of parts that wait for an earlier one
	numerics  string // full name of the arithmetic
	loop      *computeLoop
	scheduler *scheduler
	backlog   *backlog // of samples
	group     *group
	log       *slog.Logger
}

func newSpreader(o spreadOptions) *spreader { return &spreader{spreadOptions: o} }

// took records how long a part took here.
func (s *spreader) took(backward bool, tokens int, d time.Duration) {
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
func (s *spreader) patience(backward bool, tokens int) time.Duration {
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

// spreads reports whether a request of so many parts is spread over the pool; s may be nil, which is no pool.
func (s *spreader) spreads(parts int) bool { return s != nil && (parts > 1 || s.poolOnly) }

// spreadWork is a training request in parts.
type spreadWork struct {
	member  *member // of the run that asks
	version *version
	request tinker.ForwardRequest
	loss    loss.Loss
	parts   [][]item
	grads   *model.Grads                  // the run's, whose tensors a part's gradient has; nil: no gradient
	collect func(executor.Gradient) error // takes the gradients in the order of the parts
}

func (w spreadWork) backward() bool { return w.grads != nil }

// spreadRequest is a request under way. The goroutine that calls train owns it.
type spreadRequest struct {
	*spreader
	work     spreadWork
	ctx      context.Context   // ends with the request
	receipts executor.Receipts // of the pool's results that are used
	name     executor.Version  // of the weights

	parts   []spreadPart
	next    int // first part that is not begun
	used    int // parts whose results are used
	window  int // parts that may be begun beyond used
	here    int // part that this process computes; -1: none
	results chan partResult
}

// spreadPart is a part under way.
type spreadPart struct {
	items   []item
	tokens  int
	sent    time.Time // when it was given to the pool; zero: it was not
	away    bool      // the pool computes it
	refused bool      // the pool failed at it
	result  *partResult
}

// partResult is what a part gives.
type partResult struct {
	part     int
	here     bool
	outputs  []executor.Output
	gradient executor.Gradient
	receipts *executor.Receipts // of the pool
	err      error
}

// train computes the items of w in parts and has their gradients collected, in order. It fails with errDoubted if the
// results must be computed again.
func (s *spreader) train(w spreadWork) error {
	name, err := w.version.identify(s.pool, s.numerics)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(executor.WithTenant(s.group.context(), w.member.owner))
	defer cancel()
	r := &spreadRequest{spreader: s, work: w, ctx: ctx, name: name, here: -1, window: s.window(w.grads),
		results: make(chan partResult, 2*len(w.parts))}
	for _, items := range w.parts {
		r.parts = append(r.parts, spreadPart{items: items, tokens: tokensOf(items)})
	}
	for r.used < len(r.parts) {
		changed := s.pool.Changed()
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
		s.log.Warn("engine: a machine was found to be wrong; what it gave to this request is computed again",
			"model", w.member.id)
		return errDoubted
	}
	return nil
}

// errDoubted means that results were used that are not trusted any more.
var errDoubted = errors.New("engine: results are not trusted any more")

// window is how many parts may be under way or wait for an earlier one.
func (s *spreader) window(grads *model.Grads) int {
	if grads == nil {
		return 1 << 10
	}
	bytes := int64(1)
	for _, a := range grads.Accumulators() {
		bytes += 4 * int64(len(a))
	}
	return int(min(1<<10, max(2, s.poolBytes/bytes)))
}

// begin gives out the parts that somebody is free for.
func (s *spreadRequest) begin() error {
	if s.group.closing() {
		return errClosed()
	}
	if i := s.forHere(); i >= 0 {
		items, tokens := apart(s.parts[i].items), s.parts[i].tokens
		if !s.group.start(func() { s.computeHere(i, items, tokens) }) {
			return errClosed()
		}
		s.here = i
	}
	for ; s.mayBegin() && s.underWay() < s.most() && s.pool.Room() > 0; s.next++ {
		i, b := s.next, batchOf(s.work.request, s.parts[s.next].items)
		s.parts[i].sent, s.parts[i].away = time.Now(), true
		if !s.group.start(func() { s.computeAway(i, b) }) {
			return errClosed()
		}
	}
	return nil
}

// underWay is how many parts the pool has.
func (s *spreadRequest) underWay() (n int) {
	for i := s.used; i < s.next; i++ {
		if s.parts[i].away {
			n++
		}
	}
	return n
}

// most is how many parts the pool may have: one that is computed and one that waits for each executor, and no waiting
// ones at the end of a request, so that everybody ends at about the same time.
func (s *spreadRequest) most() int {
	n := s.pool.Executors()
	if len(s.parts)-s.next <= n+1 {
		return n
	}
	return 2 * n
}

func (s *spreadRequest) mayBegin() bool { return s.next < len(s.parts) && s.next < s.used+s.window }

// forHere is the part that this process computes next; -1 is none.
func (s *spreadRequest) forHere() int {
	if s.here >= 0 {
		return -1
	}
	for i := s.used; i < s.next; i++ {
		p := &s.parts[i]
		late := p.away && !s.poolOnly &&
			time.Since(p.sent) > s.patience(s.work.backward(), p.tokens) && !s.mayBegin()
		if p.result == nil && (p.refused || late) {
			return i
		}
	}
	if s.mayBegin() && (!s.poolOnly || s.pool.Executors() == 0) {
		s.next++
		return s.next - 1
	}
	return -1
}

// wait waits for a result, or until somebody may be free.
func (s *spreadRequest) wait(changed <-chan struct{}) error {
	var late <-chan time.Time
	if s.here < 0 && !s.poolOnly {
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case res := <-s.results:
		s.note(res)
	case <-changed:
	case <-late:
	case <-s.group.context().Done():
		return errClosed()
	}
	return nil
}

// note records a result. The first one of a part counts.
func (s *spreadRequest) note(res partResult) {
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
		s.log.Warn("engine: a part that failed elsewhere is computed here", "model", s.work.member.id, "part", res.part,
			"error", res.err)
	}
}

// use takes the results that are next in order.
func (s *spreadRequest) use() error {
	for s.used < len(s.parts) && s.parts[s.used].result != nil {
		p := &s.parts[s.used]
		if p.result.err != nil {
			return p.result.err
		}
		fill(p.items, p.result.outputs)
		if s.work.backward() {
			if err := s.work.collect(p.result.gradient); err != nil {
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
func (s *spreadRequest) computeHere(i int, items []item, tokens int) {
	res := partResult{part: i, here: true}
	var into *model.Grads
	if s.work.backward() {
		into = model.NewGrads(s.work.grads.T)
	}
	m := s.work.member.aside()
	defer s.loop.idle(m)
	since := time.Now()
	if res.err = s.loop.run(s.ctx, m, s.work.version, s.work.loss, items, into); res.err == nil {
		s.took(into != nil, tokens, time.Since(since))
		if res.outputs = outputs(items); into != nil {
			res.gradient = into.Independent()
		}
	}
	s.results <- res
}

// computeAway has the pool compute a part.
func (s *spreadRequest) computeAway(i int, b executor.Batch) {
	res := partResult{part: i, receipts: &executor.Receipts{}}
	ctx := executor.WithReceipts(s.ctx, res.receipts)
	if !s.work.backward() {
		res.outputs, res.err = s.pool.Forward(ctx, s.name, b)
	} else {
		res.outputs, res.gradient, res.err = s.pool.Gradient(ctx, s.name, b)
		if res.err == nil && !s.work.grads.Fits(res.gradient) {
			res.err = tinker.Serverf("engine: a gradient of other tensors than the model's")
		}
	}
	s.results <- res
}
