package engine

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// prefillTokens bounds the prompt tokens of one step, so that samples under way go on beside a long prompt.
const prefillTokens = 1024

// logitFloats bounds the logits computed at once: 64 MiB, which are 64 rows of the largest vocabularies. Each time the
// whole head is read.
const logitFloats = 16 << 20

// scheduler samples all requests together. One goroutine runs while there is work; each step computes the next tokens
// of all lanes in one pass per base weights and draws. What is computed together changes no bit.
type scheduler struct {
	e      *Engine
	runner *model.Runner

	mu      sync.Mutex
	lines   []*line // those with somebody in them
	running bool
	shares  shares

	// of the loop's goroutine
	ended   []*sampling // since the last look at the lines
	lanes   []*lane     // in the order they came, samples before their prompt
	spare   []*lane
	some    []*lane // empty between uses
	batch   []*lane // of the step
	short   *lane   // the oldest that found no pages in the last step
	leader  string  // the owner whose step it is
	force   bool    // a lane that finds no pages may go beyond the budget if the batch is empty
	seqs    []model.Seq
	want    []wanted
	rows    []int
	logits  []float32
	drawers sync.Pool
}

// wanted is a row of logits a lane needs: behind token pos of its sequence.
type wanted struct {
	l   *lane
	row int // in the pass
	pos int
	drawn
}

// drawn is a token of a sample.
type drawn struct {
	token int32
	logp  float32
	top   []tinker.TokenLogprob // the likeliest at its place, if asked for
}

func newScheduler(e *Engine) *scheduler {
	return &scheduler{e: e, runner: model.NewRunner(e.compute), drawers: sync.Pool{New: func() any { return new(drawer) }}}
}

// line is the requests of one sampling client that wait to begin, in order.
type line struct {
	owner   string
	share   *share // guarded by the scheduler
	waiting []*sampling
}

// submit accepts a request.
func (c *scheduler) submit(s *sampling, promised bool) error {
	if err := c.backlog().take(s.line.owner, len(s.prompt), promised); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		if !c.e.start(c.loop) {
			c.backlog().release(s.line.owner, len(s.prompt))
			return errClosed()
		}
		c.running = true
	}
	c.shares.enter(s.line.share)
	c.e.turn.clock.enter(forSamples, s.line.owner)
	if len(s.line.waiting) == 0 {
		c.lines = append(c.lines, s.line)
	}
	s.line.waiting = append(s.line.waiting, s)
	return nil
}

func (c *scheduler) backlog() *backlog { return &c.e.waiting[tinker.Sampling] }

// loop runs until nothing is left to do. It plans when it has the turn, so that nobody who came while it waited waits
// again.
func (c *scheduler) loop() {
	if !c.more() {
		return
	}
	c.e.turn.take(forSamples)
	defer c.e.turn.done(forSamples)
	for {
		since := time.Now()
		c.admit()
		c.sweep()
		c.plan()
		if len(c.batch) > 0 {
			c.step()
		}
		c.begin()
		c.e.turn.clock.charge(forSamples, time.Since(since), c.leader)
		if !c.more() {
			return
		}
		if len(c.batch) == 0 {
			c.e.turn.yield(forSamples) // whoever waits
		} else {
			c.e.turn.yield(forSamples, c.owners()...)
		}
	}
}

// owners are those who have something to sample.
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

// more reports whether there is anything to do. When there is not, the loop is over.
func (c *scheduler) more() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.depart()
	if len(c.lanes)+len(c.lines) > 0 {
		return true
	}
	c.lines, c.running, c.short = nil, false, nil
	clear(c.seqs[:cap(c.seqs)]) // so that idle memory holds no weights
	clear(c.want[:cap(c.want)])
	clear(c.batch[:cap(c.batch)])
	return false
}

// depart counts out the requests that have ended; c.mu is held.
func (c *scheduler) depart() {
	c.e.figures.running.Store(int64(len(c.lanes)))
	for _, s := range c.ended {
		c.shares.leave(s.line.share)
		c.e.turn.clock.leave(forSamples, s.line.owner)
		if s.begun {
			s.line.share.owner.running--
		}
	}
	clear(c.ended)
	c.ended = c.ended[:0]
}

// admit takes new requests in while there is room.
func (c *scheduler) admit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	closed := c.e.ctx.Err() != nil
	for _, l := range c.lines {
		l.waiting = slices.DeleteFunc(l.waiting, func(s *sampling) bool {
			if s.cancelled.Load() {
				c.end(s, s.cause())
			}
			return s.closed
		})
	}
	for {
		l := c.first(closed)
		if l == nil || !closed && c.rather(l) {
			break
		}
		s := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		s.begun = true
		s.line.share.owner.running++
		s.line.share.charge(1)
		c.lanes = append(c.lanes, newPromptLane(s))
	}
	c.lines = slices.DeleteFunc(c.lines, func(l *line) bool { return len(l.waiting) == 0 })
}

// first is the line whose turn it is, of those that there is room for: an owner of whom nothing is under way may go a
// quarter beyond the bound, so that he need not wait for the end of another's long samples. c.mu is held.
func (c *scheduler) first(closed bool) (best *line) {
	most := c.e.opts.MaxSequences
	for _, l := range c.lines {
		room := closed || len(c.lanes) < most || len(c.lanes) < most+most/4 && l.share.owner.running == 0
		if room && len(l.waiting) > 0 && (best == nil || l.share.compare(best.share) < 0) {
			best = l
		}
	}
	return best
}

// rather says that a request which is under way has samples to begin and comes before a line; c.mu is held.
func (c *scheduler) rather(l *line) bool {
	return slices.ContainsFunc(c.lanes, func(v *lane) bool { return v.ready() && v.s.line.share.compare(l.share) < 0 })
}

// end resolves a request once.
func (c *scheduler) end(s *sampling, err error) {
	if !s.closed {
		c.backlog().release(s.line.owner, len(s.prompt))
		s.end(err)
		c.ended = append(c.ended, s)
	}
}

// sweep ends requests that were given up, all of them when the engine closes.
func (c *scheduler) sweep() {
	c.lanes = slices.DeleteFunc(c.lanes, func(l *lane) bool {
		if c.e.ctx.Err() != nil {
			c.end(l.s, errClosed())
		} else if l.s.cancelled.Load() && !l.s.closed {
			c.end(l.s, l.s.cause())
		}
		if l.s.closed {
			l.drop()
		}
		return l.s.closed
	})
}

// plan fills the batch: every sample under way, then prompts up to the bound, those first whose party has had least.
// When pages run out lanes give theirs back, to compute them again later. The oldest for whom there were none comes
// first the next time: else some who need few could take them in turns for ever, from one who needs many.
//
// Each step is the step of one owner, the one that has had the least computing time, who is charged with it. Everybody
// else joins in with as many tokens as the leader has at most, so that the step of one who has few takes about as long
// as he would need alone.
func (c *scheduler) plan() {
	c.mu.Lock() // for the shares
	defer c.mu.Unlock()
	c.batch = c.batch[:0]
	short, last := c.short, c.short
	c.short = nil
	for _, l := range c.lanes {
		l.planned, l.short, l.take = false, false, 0
	}
	c.leader = c.lead()
	budget := prefillTokens
	mine := func(l *lane) bool { return l.owner().name == c.leader }
	c.force = !slices.ContainsFunc(c.lanes, func(l *lane) bool { return !mine(l) && !l.idle() })
	c.share(mine, math.MaxInt, &budget, &short)
	c.force = true
	rows := 0
	for _, l := range c.batch {
		rows += l.take
	}
	if rows == 0 { // no pages for the leader: the others may end and give theirs back
		rows = math.MaxInt
	}
	c.share(func(l *lane) bool { return !mine(l) }, rows, &budget, &short)
	if i := slices.IndexFunc(c.lanes, func(l *lane) bool { return l.short || l == last && !l.planned && !l.idle() }); i >= 0 {
		c.short = c.lanes[i]
	}
	slices.SortStableFunc(c.batch, func(a, b *lane) int {
		v, w := a.s.version, b.s.version
		return cmp.Or(cmp.Compare(v.weights, w.weights), cmp.Compare(v.id, w.id))
	})
}

// lead is the owner whose step the next one is.
func (c *scheduler) lead() string {
	var names []string
	for _, l := range c.lanes {
		if name := l.owner().name; !l.idle() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return c.e.turn.clock.least(forSamples, names)
}

// share fills the batch with the lanes that are meant, at most so many tokens of each owner.
func (c *scheduler) share(meant func(*lane) bool, most int, budget *int, short **lane) {
	for _, l := range c.lanes { // samples under way
		if meant(l) {
			l.owner().room = most
		}
	}
	for _, l := range c.lanes {
		if meant(l) && l.done > 0 && len(l.tokens)-l.done == 1 && l.owner().room > 0 && c.space(l, 1) {
			c.include(l, 1)
		}
	}
	waiting := c.some[:0]
	defer func() { clear(c.some[:cap(c.some)]) }()
	for _, l := range c.lanes {
		if meant(l) && !l.planned && !l.idle() {
			waiting = append(waiting, l)
		}
	}
	c.some = waiting
	for *budget > 0 && len(waiting) > 0 {
		i := leastServed(waiting)
		if j := slices.Index(waiting, *short); j >= 0 {
			i, *short = j, nil
		}
		l := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		n := min(l.owner().room, *budget)
		if n == 0 {
			continue
		}
		l.resume()
		if n = min(len(l.tokens)-l.done, n); c.space(l, n) {
			c.include(l, n)
			*budget -= n
		} else {
			l.short = true
		}
	}
}

// leastServed is the place of the first lane whose party comes before the others'.
func leastServed(lanes []*lane) (best int) {
	for i, l := range lanes {
		if l.s.line.share.compare(lanes[best].s.line.share) < 0 {
			best = i
		}
	}
	return best
}

func (c *scheduler) include(l *lane, n int) {
	l.planned, l.take = true, n
	l.owner().room -= n
	l.s.line.share.charge(int64(n))
	c.batch = append(c.batch, l)
}

// space finds pages for a lane's next n tokens.
func (c *scheduler) space(l *lane, n int) bool {
	for !l.room(n, false) {
		victim := c.victim(l, n)
		if victim == nil {
			return c.force && len(c.batch) == 0 && l.room(n, true) // alone it may go beyond the budget
		}
		if victim.planned {
			c.batch = slices.DeleteFunc(c.batch, func(b *lane) bool { return b == victim })
			victim.owner().room += victim.take
			victim.planned, victim.take = false, 0
		}
		victim.drop()
	}
	return true
}

// victim is the lane that gives its pages of the same cache for l's next n tokens: of the owners that hold more than
// l's would then, the one with most, and of his lanes the youngest; else the youngest of l's own behind l that is not
// in the batch.
func (c *scheduler) victim(l *lane, n int) (best *lane) {
	held := map[*share]int{}
	for _, v := range c.lanes {
		if v.cache() == l.cache() {
			held[v.owner()] += len(v.pages)
		}
	}
	behind := true
	for _, v := range slices.Backward(c.lanes) {
		switch {
		case v == l:
			behind = false
			continue
		case len(v.pages) == 0 || v.cache() != l.cache():
			continue
		case v.owner() == l.owner():
			if !behind || v.planned {
				continue
			}
		case held[v.owner()] <= held[l.owner()]+pagesFor(n)+len(v.pages):
			continue
		}
		if best == nil || held[v.owner()] > held[best.owner()] {
			best = v
		}
	}
	return best
}

// begin starts samples of the prompts that are done, each before its prompt, and removes what has ended.
func (c *scheduler) begin() {
	c.grant()
	old, now := c.lanes, c.spare[:0]
	for _, l := range old {
		if l.granted > 0 {
			now = c.spawn(l, now, l.granted)
		}
		if l.s.left == 0 {
			c.end(l.s, nil)
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

// grant divides the room for new samples among the prompts that are done: one by one to the party that has had least,
// until a request that waits comes before them. A prompt without any sample under way needs no room for the next.
func (c *scheduler) grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	room, next := c.e.opts.MaxSequences-len(c.lanes), c.first(false)
	ready := c.some[:0]
	defer func() { clear(c.some[:cap(c.some)]) }()
	for _, l := range c.lanes {
		if l.granted = 0; l.ready() {
			if l.s.next == l.s.n-l.s.left && (next == nil || next.share.compare(l.s.line.share) >= 0) {
				l.granted = 1
				l.s.line.share.charge(1)
				room--
			}
			ready = append(ready, l)
		}
	}
	c.some = ready
	for ; room > 0 && len(ready) > 0; room-- {
		i := leastServed(ready)
		l := ready[i]
		if next != nil && next.share.compare(l.s.line.share) < 0 {
			break
		}
		if l.granted == l.s.n-l.s.next {
			ready = slices.Delete(ready, i, i+1)
			room++
			continue
		}
		l.granted++
		l.s.line.share.charge(1)
	}
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
		if s.sampled(s.next, drawn{token, logprob(l.logits, lse, token), s.top(l.logits, lse)}, &child.tail) {
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
