// Package sampler computes the samples of all requests together: it plans the batch of each step over KV pages and
// resident prefixes, draws tokens, and ends samples at stop tokens and strings.
package sampler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// PrefillTokens limits the prompt tokens of one step, so that a long prompt does not stall the samples in progress.
const PrefillTokens = 1024

// logitFloats limits the logits computed at once: 64 MiB, which are 64 rows of the largest vocabularies. Each part
// reads the whole head.
const logitFloats = 16 << 20

// Scheduler computes the samples of all requests together. One goroutine runs while there is work; each step
// computes the next tokens of all sequences, in one pass for each set of base weights, and draws. Batching changes
// no bit.
type Scheduler struct {
	Options
	counters counters
	Runner   *model.Runner

	mu      sync.Mutex
	queues  []*Queue // that are not empty
	running bool
	shares  fair.Shares

	// of the loop's goroutine
	ended     []*Request  // since the last depart
	sequences []*sequence // in order of arrival, samples before their prompt
	spare     []*sequence
	some      []*sequence // empty between uses
	batch     []*sequence // of the step
	streamed  bool        // somebody may wait for a token of the step
	short     *sequence   // the first that found no pages in the last step
	leader    string      // the tenant that the step is charged to
	force     bool        // a sequence that finds no pages may exceed the budget if the batch is empty
	seqs      []model.Seq
	want      []logitRow
	rows      []int
	logits    []float32
	drawers   sync.Pool
}

// logitRow is a row of logits that a sequence needs: that after token pos.
type logitRow struct {
	l     *sequence
	row   int // in the pass
	pos   int
	drawn []drawnToken // of each of the sequence's samples
}

// drawnToken is a token of a sample.
type drawnToken struct {
	token int32
	logp  float32
	top   []tinker.TokenLogprob // the most likely alternatives, if asked for
	by    *source               // of an in-flight sampler, the weights that drew it
}

// Options configure a scheduler.
type Options struct {
	Compute      nn.Compute
	Turn         *fair.Turn
	Group        *lifetime.Group
	Backlog      *fair.Backlog
	MaxSequences int // computed together
}

func New(o Options) *Scheduler {
	return &Scheduler{Options: o, Runner: model.NewRunner(o.Compute),
		drawers: sync.Pool{New: func() any { return new(drawer) }}}
}

// Queue is the waiting requests of one sampling client, in order.
type Queue struct {
	owner   string
	share   *fair.Share // guarded by the scheduler
	waiting []*Request
}

// NewQueue returns the queue of a new client of a tenant.
func NewQueue(owner string) *Queue {
	return &Queue{owner: owner, share: fair.NewShare(owner)}
}

// Submit accepts a request.
func (c *Scheduler) Submit(s *Request, promised bool) error {
	if err := c.Backlog.Take(s.queue.owner, len(s.prompt), promised); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		if !c.Group.Start(c.loop) {
			c.Backlog.Release(s.queue.owner, len(s.prompt))
			return lifetime.Closed()
		}
		c.running = true
	}
	c.shares.Enter(s.queue.share)
	c.Turn.Clock.Enter(fair.ForSamples, s.queue.owner)
	if len(s.queue.waiting) == 0 {
		c.queues = append(c.queues, s.queue)
	}
	s.queue.waiting = append(s.queue.waiting, s)
	return nil
}

// loop runs until no work is left. It plans after it has got its turn, so that requests that arrived meanwhile are
// included.
func (c *Scheduler) loop() {
	if !c.more() {
		return
	}
	c.Turn.Take(fair.ForSamples)
	defer c.Turn.Done(fair.ForSamples)
	for {
		since := time.Now()
		c.admit()
		c.sweep()
		c.plan()
		if len(c.batch) > 0 {
			c.step()
		}
		c.begin()
		c.Turn.Clock.Charge(fair.ForSamples, time.Since(since), c.leader)
		if !c.more() {
			return
		}
		if len(c.batch) == 0 {
			c.Turn.Yield(fair.ForSamples) // to any waiting tenant
		} else {
			c.Turn.Yield(fair.ForSamples, c.owners()...)
		}
	}
}

// owners are the tenants with sampling requests.
func (c *Scheduler) owners() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, p := range c.shares.Present {
		if p.Owner == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// more reports whether there is work. If not, the loop ends.
func (c *Scheduler) more() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.depart()
	if len(c.sequences)+len(c.queues) > 0 {
		return true
	}
	c.queues, c.running, c.short = nil, false, nil
	clear(c.seqs[:cap(c.seqs)]) // so that idle memory holds no weights
	clear(c.want[:cap(c.want)])
	clear(c.batch[:cap(c.batch)])
	return false
}

// depart removes the requests that have ended from the shares; c.mu is held.
func (c *Scheduler) depart() {
	c.counters.running.Store(int64(len(c.sequences)))
	for _, s := range c.ended {
		c.shares.Leave(s.queue.share)
		c.Turn.Clock.Leave(fair.ForSamples, s.queue.owner)
		if s.begun {
			s.queue.share.Owner.Running--
		}
	}
	clear(c.ended)
	c.ended = c.ended[:0]
}

// admit begins waiting requests while there is room.
func (c *Scheduler) admit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed := c.Group.Closing()
	for _, l := range c.queues {
		l.waiting = slices.DeleteFunc(l.waiting, func(s *Request) bool {
			if s.ctx.Err() != nil {
				c.end(s, context.Cause(s.ctx))
			}
			return s.closed
		})
	}
	for {
		l := c.first(closed)
		if l == nil || !closed && c.behindRunning(l) {
			break
		}
		s := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		s.begun = true
		s.takeOff()
		s.queue.share.Owner.Running++
		s.queue.share.Charge(1)
		c.sequences = append(c.sequences, newPromptSequence(s))
	}
	c.queues = slices.DeleteFunc(c.queues, func(l *Queue) bool { return len(l.waiting) == 0 })
}

// first is the queue that comes first among those with room. A tenant without a running request may exceed the limit
// by a quarter, so that it need not wait for the end of another tenant's long samples. c.mu is held.
func (c *Scheduler) first(closed bool) (best *Queue) {
	most, n := c.MaxSequences, c.samples()
	for _, l := range c.queues {
		room := closed || n < most || n < most+most/4 && l.share.Owner.Running == 0
		if room && len(l.waiting) > 0 && (best == nil || l.share.Compare(best.share) < 0) {
			best = l
		}
	}
	return best
}

// behindRunning reports whether a running request with samples left to begin comes before a queue; c.mu is held.
func (c *Scheduler) behindRunning(l *Queue) bool {
	return slices.ContainsFunc(c.sequences, func(v *sequence) bool {
		return v.ready() && v.s.queue.share.Compare(l.share) < 0
	})
}

// end resolves a request once.
func (c *Scheduler) end(s *Request, err error) {
	if !s.closed {
		c.Backlog.Release(s.queue.owner, len(s.prompt))
		s.End(err)
		c.ended = append(c.ended, s)
	}
}

// sweep ends cancelled requests, and all requests when the engine closes.
func (c *Scheduler) sweep() {
	c.sequences = slices.DeleteFunc(c.sequences, func(l *sequence) bool {
		if c.Group.Closing() {
			c.end(l.s, lifetime.Closed())
		} else if l.s.ctx.Err() != nil && !l.s.closed {
			c.end(l.s, context.Cause(l.s.ctx))
		}
		if l.s.closed {
			l.drop()
		}
		return l.s.closed
	})
}
