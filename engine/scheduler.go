package engine

import (
	"cmp"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/model"
)

// prefillTokens bounds the prompt tokens of one step, so that samples under way go on beside a long prompt.
const prefillTokens = 1024

// logitFloats bounds the logits computed at once: 16 MiB.
const logitFloats = 4 << 20

// scheduler samples all requests together. One goroutine runs while there is work; each step computes the next tokens of all lanes
// in one pass per base weights and draws. What is computed together changes no bit.
type scheduler struct {
	e      *Engine
	runner *model.Runner

	mu      sync.Mutex
	inbox   []*sampling
	running bool

	// of the loop's goroutine
	lanes   []*lane // in the order they came, samples before their prompt
	spare   []*lane
	batch   []*lane // of the step
	seqs    []model.Seq
	want    []wanted
	rows    []int
	logits  []float32
	drawers sync.Pool
}

// wanted is a row of logits a lane needs: behind token pos of its sequence.
type wanted struct {
	l     *lane
	row   int // in the pass
	pos   int
	token int32 // drawn
	logp  float32
}

func newScheduler(e *Engine) *scheduler {
	return &scheduler{e: e, runner: model.NewRunner(e.compute), drawers: sync.Pool{New: func() any { return new(drawer) }}}
}

// submit accepts a request.
func (c *scheduler) submit(s *sampling) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		if !c.e.start(c.loop) {
			return errClosed()
		}
		c.running = true
	}
	c.inbox = append(c.inbox, s)
	return nil
}

// loop runs until nothing is left to do.
func (c *scheduler) loop() {
	for c.admit() {
		c.sweep()
		c.plan()
		if len(c.batch) > 0 {
			c.step()
		}
		c.begin()
	}
}

// admit takes new requests in while there is room, and reports whether there is anything to do. When there is not, the loop is over.
func (c *scheduler) admit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed := c.e.ctx.Err() != nil
	c.inbox = slices.DeleteFunc(c.inbox, func(s *sampling) bool {
		if s.cancelled.Load() {
			s.end(s.cause())
		}
		return s.closed
	})
	for len(c.inbox) > 0 && (len(c.lanes) < c.e.opts.MaxSequences || closed) {
		c.lanes = append(c.lanes, newPromptLane(c.inbox[0]))
		c.inbox = slices.Delete(c.inbox, 0, 1)
	}
	if len(c.lanes) == 0 {
		c.inbox, c.running = nil, false
		clear(c.seqs[:cap(c.seqs)]) // so that idle memory holds no weights
		clear(c.want[:cap(c.want)])
		clear(c.batch[:cap(c.batch)])
		return false
	}
	return true
}

// sweep ends requests that were given up, all of them when the engine closes.
func (c *scheduler) sweep() {
	c.lanes = slices.DeleteFunc(c.lanes, func(l *lane) bool {
		if c.e.ctx.Err() != nil {
			l.s.end(errClosed())
		} else if l.s.cancelled.Load() && !l.s.closed {
			l.s.end(l.s.cause())
		}
		if l.s.closed {
			l.drop()
		}
		return l.s.closed
	})
}

// plan fills the batch: every sample under way, then prompts up to the bound. When pages run out the youngest lane gives its own
// back, to compute them again later.
func (c *scheduler) plan() {
	c.batch = c.batch[:0]
	budget := prefillTokens
	for _, l := range c.lanes {
		l.planned, l.take = false, 0
	}
	for _, l := range c.lanes { // samples under way
		if l.done > 0 && len(l.tokens)-l.done == 1 && c.space(l, 1) {
			c.include(l, 1)
		}
	}
	for _, l := range c.lanes {
		if budget == 0 {
			break
		}
		if l.planned || l.idle() {
			continue
		}
		l.resume()
		if n := min(len(l.tokens)-l.done, budget); c.space(l, n) {
			c.include(l, n)
			budget -= n
		}
	}
	slices.SortStableFunc(c.batch, func(a, b *lane) int {
		v, w := a.s.version, b.s.version
		return cmp.Or(cmp.Compare(v.weights, w.weights), cmp.Compare(v.id, w.id))
	})
}

func (c *scheduler) include(l *lane, n int) {
	l.planned, l.take = true, n
	c.batch = append(c.batch, l)
}

// space finds pages for a lane's next n tokens.
func (c *scheduler) space(l *lane, n int) bool {
	for !l.room(n, false) {
		victim := c.youngest(l)
		if victim == nil {
			return len(c.batch) == 0 && l.room(n, true) // alone it may go beyond the budget
		}
		victim.drop()
	}
	return true
}

// youngest is the last lane behind l that has pages of the same cache to give and is not in the batch.
func (c *scheduler) youngest(l *lane) *lane {
	for _, v := range slices.Backward(c.lanes) {
		if v == l {
			return nil
		}
		if !v.planned && len(v.pages) > 0 && v.cache() == l.cache() {
			return v
		}
	}
	return nil
}

// begin starts samples of the prompts that are done, each before its prompt, and removes what has ended.
func (c *scheduler) begin() {
	old, now := c.lanes, c.spare[:0]
	room := c.e.opts.MaxSequences - len(old)
	for _, l := range old {
		if l.prompting() && l.logits != nil && !l.s.closed {
			n := len(now)
			now = c.spawn(l, now, max(room, 1))
			room -= len(now) - n
		}
		if l.s.left == 0 {
			l.s.end(nil)
		}
		if l.s.closed || l.prompting() && l.s.next == l.s.n || !l.prompting() && l.idle() {
			l.drop()
		} else {
			now = append(now, l)
		}
	}
	clear(old)
	c.lanes, c.spare = now, old[:0]
}

// spawn begins at most room samples of a finished prompt and adds those that go on to lanes.
func (c *scheduler) spawn(l *lane, lanes []*lane, room int) []*lane {
	s := l.s
	lse := c.e.compute.K.LogSumExp(l.logits)
	for ; s.next < s.n && room > 0; s.next++ {
		token := c.draw(l.logits, s, s.seed.Stream("sample", s.next), 0)
		child := l.fork(token, c.stuck(lanes))
		if child == nil {
			break // no pages: later
		}
		if s.sampled(s.next, token, logprob(l.logits, lse, token), &child.tail) {
			child.drop()
			continue
		}
		lanes = append(lanes, child)
		room--
	}
	return lanes
}

// stuck says that no sample is under way, so that waiting for pages would be in vain.
func (c *scheduler) stuck(lanes []*lane) bool {
	running := func(l *lane) bool { return !l.prompting() }
	return !slices.ContainsFunc(lanes, running) && !slices.ContainsFunc(c.lanes, running)
}
