package engine

import (
	"cmp"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/model"
	"github.com/seed-d9ad8ee0/trinity/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
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

// step computes the batch in one turn.
func (c *scheduler) step() {
	c.e.turn.sample()
	defer c.e.turn.done()
	for rest := c.batch; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].s.version.weights == rest[0].s.version.weights {
			n++
		}
		c.pass(rest[:n])
		rest = rest[n:]
	}
}

// pass computes lanes with the same base weights.
func (c *scheduler) pass(lanes []*lane) {
	c.seqs, c.want = c.seqs[:0], c.want[:0]
	row := 0
	for _, l := range lanes {
		l.first = row
		c.seqs = append(c.seqs, model.Seq{Tokens: l.tokens[l.done : l.done+l.take], Pos: l.done, Pages: l.view, Adapter: l.s.version.adapter})
		c.wanted(l)
		row += l.take
	}
	w := lanes[0].s.version.w
	hidden := c.runner.Forward(w, c.seqs, nil)
	if err := c.runner.Err(); err != nil {
		for _, l := range lanes {
			l.s.end(tinker.Serverf("engine: sampling from base model %q: %w", l.s.version.base.name, err))
		}
		return
	}
	for _, l := range lanes {
		l.computed()
	}
	V := w.Config.Vocab
	for rest := c.want; len(rest) > 0; {
		n := min(len(rest), max(1, logitFloats/V))
		c.score(w, hidden, rest[:n], V)
		rest = rest[n:]
	}
}

// wanted lists the rows that a lane's step must score: the last token's, and for a scored prompt all.
func (c *scheduler) wanted(l *lane) {
	from := l.done
	if !l.prompting() || !l.s.wantsPrompt() {
		from = max(from, len(l.tokens)-1)
	}
	for pos := from; pos < l.done+l.take; pos++ {
		c.want = append(c.want, wanted{l: l, row: l.first + pos - l.done, pos: pos})
	}
}

// score computes rows of logits and what each is for.
func (c *scheduler) score(w *model.Weights, hidden []float32, want []wanted, V int) {
	if cap(c.logits) < len(want)*V {
		c.logits = kernel.Aligned(len(want) * V)
	}
	c.rows = c.rows[:0]
	for _, x := range want {
		c.rows = append(c.rows, x.row)
	}
	logits := c.logits[:len(want)*V]
	c.runner.Logits(w, c.seqs, hidden, c.rows, logits)
	c.e.compute.P.Run(len(want), func(i int, _ *kernel.Scratch) { c.use(&want[i], logits[i*V:(i+1)*V]) })
	for i := range want {
		if x := &want[i]; !x.l.prompting() {
			c.extend(x.l, x.token, x.logp)
		}
	}
}

// use draws from a row, or notes what it says about the prompt. Rows are independent of each other.
func (c *scheduler) use(x *wanted, row []float32) {
	l, s, k := x.l, x.l.s, c.e.compute.K
	lse := k.LogSumExp(row)
	if !l.prompting() {
		x.token = c.draw(row, s, l.stream, len(l.tokens)-len(s.prompt))
		x.logp = logprob(row, lse, x.token)
		return
	}
	if next := x.pos + 1; next < len(l.tokens) {
		s.scorePrompt(next, row, lse)
		return
	}
	l.logits = slices.Clone(row)
}

func (c *scheduler) draw(row []float32, s *sampling, stream rng.Stream, t int) int32 {
	d := c.drawers.Get().(*drawer)
	defer c.drawers.Put(d)
	return d.draw(c.e.compute.K, row, s, stream.Float64At(uint64(t)))
}

// scorePrompt notes the log-probabilities of position next of the prompt.
func (s *sampling) scorePrompt(next int, row []float32, lse float32) {
	if s.promptLogprobs {
		s.out.PromptLogprobs[next] = logprob(row, lse, s.prompt[next])
	}
	if s.promptTop > 0 {
		ids := make([]int32, len(row))
		for i := range ids {
			ids[i] = int32(i)
		}
		top := make([]tinker.TokenLogprob, 0, s.promptTop)
		for _, id := range best(ids, row, s.promptTop) {
			top = append(top, tinker.TokenLogprob{Token: id, Logprob: logprob(row, lse, id)})
		}
		s.out.TopKPromptLogprobs[next] = top
	}
}

// extend gives a lane its token. A lane that has ended stays in the list, idle and without pages, for begin to remove.
func (c *scheduler) extend(l *lane, token int32, logp float32) {
	l.tokens = append(l.tokens, token)
	if l.s.sampled(l.sample, token, logp, &l.tail) {
		l.drop()
		l.done = len(l.tokens)
	}
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
