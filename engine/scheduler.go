package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// prefillTokens limits the prompt tokens of one step, so that a long prompt does not stall the samples in progress.
const prefillTokens = 1024

// logitFloats limits the logits computed at once: 64 MiB, which are 64 rows of the largest vocabularies. Each part
// reads the whole head.
const logitFloats = 16 << 20

// scheduler computes the samples of all requests together. One goroutine runs while there is work; each step
// computes the next tokens of all sequences, in one pass for each set of base weights, and draws. Batching changes
// no bit.
type scheduler struct {
	schedulerOptions
	counters samplerCounters
	runner   *model.Runner

	mu      sync.Mutex
	queues  []*samplingQueue // that are not empty
	running bool
	shares  fairShares

	// of the loop's goroutine
	ended     []*samplingRequest // since the last depart
	sequences []*sequence        // in order of arrival, samples before their prompt
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
	l   *sequence
	row int // in the pass
	pos int
	drawnToken
}

// drawnToken is a token of a sample.
type drawnToken struct {
	token int32
	logp  float32
	top   []tinker.TokenLogprob // the most likely alternatives, if asked for
}

// schedulerOptions configure a scheduler.
type schedulerOptions struct {
	compute      nn.Compute
	turn         *turn
	group        *group
	backlog      *backlog
	maxSequences int // computed together
}

func newScheduler(o schedulerOptions) *scheduler {
	return &scheduler{schedulerOptions: o, runner: model.NewRunner(o.compute),
		drawers: sync.Pool{New: func() any { return new(drawer) }}}
}

// samplingQueue is the waiting requests of one sampling client, in order.
type samplingQueue struct {
	owner   string
	share   *fairShare // guarded by the scheduler
	waiting []*samplingRequest
}

// newSamplingQueue returns the queue of a new client of a tenant.
func newSamplingQueue(owner string) *samplingQueue {
	return &samplingQueue{owner: owner, share: newShare(owner)}
}

// submit accepts a request.
func (c *scheduler) submit(s *samplingRequest, promised bool) error {
	if err := c.backlog.take(s.queue.owner, len(s.prompt), promised); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		if !c.group.start(c.loop) {
			c.backlog.release(s.queue.owner, len(s.prompt))
			return errClosed()
		}
		c.running = true
	}
	c.shares.enter(s.queue.share)
	c.turn.clock.enter(forSamples, s.queue.owner)
	if len(s.queue.waiting) == 0 {
		c.queues = append(c.queues, s.queue)
	}
	s.queue.waiting = append(s.queue.waiting, s)
	return nil
}

// loop runs until no work is left. It plans after it has got its turn, so that requests that arrived meanwhile are
// included.
func (c *scheduler) loop() {
	if !c.more() {
		return
	}
	c.turn.take(forSamples)
	defer c.turn.done(forSamples)
	for {
		since := time.Now()
		c.admit()
		c.sweep()
		c.plan()
		if len(c.batch) > 0 {
			c.step()
		}
		c.begin()
		c.turn.clock.charge(forSamples, time.Since(since), c.leader)
		if !c.more() {
			return
		}
		if len(c.batch) == 0 {
			c.turn.yield(forSamples) // to any waiting tenant
		} else {
			c.turn.yield(forSamples, c.owners()...)
		}
	}
}

// owners are the tenants with sampling requests.
func (c *scheduler) owners() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, p := range c.shares.present {
		if p.owner == nil {
			names = append(names, p.name)
		}
	}
	return names
}

// more reports whether there is work. If not, the loop ends.
func (c *scheduler) more() bool {
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
func (c *scheduler) depart() {
	c.counters.running.Store(int64(len(c.sequences)))
	for _, s := range c.ended {
		c.shares.leave(s.queue.share)
		c.turn.clock.leave(forSamples, s.queue.owner)
		if s.begun {
			s.queue.share.owner.running--
		}
	}
	clear(c.ended)
	c.ended = c.ended[:0]
}

// admit begins waiting requests while there is room.
func (c *scheduler) admit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed := c.group.closing()
	for _, l := range c.queues {
		l.waiting = slices.DeleteFunc(l.waiting, func(s *samplingRequest) bool {
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
		s.queue.share.owner.running++
		s.queue.share.charge(1)
		c.sequences = append(c.sequences, newPromptSequence(s))
	}
	c.queues = slices.DeleteFunc(c.queues, func(l *samplingQueue) bool { return len(l.waiting) == 0 })
}

// first is the queue that comes first among those with room. A tenant without a running request may exceed the limit
// by a quarter, so that it need not wait for the end of another tenant's long samples. c.mu is held.
func (c *scheduler) first(closed bool) (best *samplingQueue) {
	most := c.maxSequences
	for _, l := range c.queues {
		room := closed || len(c.sequences) < most || len(c.sequences) < most+most/4 && l.share.owner.running == 0
		if room && len(l.waiting) > 0 && (best == nil || l.share.compare(best.share) < 0) {
			best = l
		}
	}
	return best
}

// behindRunning reports whether a running request with samples left to begin comes before a queue; c.mu is held.
func (c *scheduler) behindRunning(l *samplingQueue) bool {
	return slices.ContainsFunc(c.sequences, func(v *sequence) bool {
		return v.ready() && v.s.queue.share.compare(l.share) < 0
	})
}

// end resolves a request once.
func (c *scheduler) end(s *samplingRequest, err error) {
	if !s.closed {
		c.backlog.release(s.queue.owner, len(s.prompt))
		s.end(err)
		c.ended = append(c.ended, s)
	}
}

// sweep ends cancelled requests, and all requests when the engine closes.
func (c *scheduler) sweep() {
	c.sequences = slices.DeleteFunc(c.sequences, func(l *sequence) bool {
		if c.group.closing() {
			c.end(l.s, errClosed())
		} else if l.s.ctx.Err() != nil && !l.s.closed {
			c.end(l.s, context.Cause(l.s.ctx))
		}
		if l.s.closed {
			l.drop()
		}
		return l.s.closed
	})
}
