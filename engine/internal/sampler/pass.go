package sampler

import (
	"runtime"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// step computes the batch.
func (c *Scheduler) step() {
	c.counters.step(c.batch)
	for rest := c.batch; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].version().Weights == rest[0].version().Weights {
			n++
		}
		c.pass(rest[:n])
		rest = rest[n:]
	}
	if c.streamed {
		c.streamed = false
		runtime.Gosched() // those who wait for the tokens run now, and do not interrupt the next step
	}
}

// pass computes sequences with the same base weights.
func (c *Scheduler) pass(sequences []*sequence) {
	c.seqs, c.want = c.seqs[:0], c.want[:0]
	row := 0
	for _, l := range sequences {
		l.first = row
		c.seqs = append(c.seqs, model.Seq{Tokens: l.tokens[l.done : l.done+l.take], Pos: l.done, Pages: l.view,
			Memory: l.memory, Adapter: l.version().Adapter})
		c.wanted(l)
		row += l.take
	}
	w := sequences[0].version().W
	hidden := c.Runner.Forward(w, c.seqs, nil)
	for i, l := range sequences {
		if err := c.Runner.SeqErr(i); err != nil {
			c.end(l.s, tinker.Serverf("engine: sampling from base model %q: %w", l.s.version.Base.Name, err))
		} else {
			l.computed()
		}
	}
	c.want = slices.DeleteFunc(c.want, func(x logitRow) bool { return x.l.s.closed })
	V := w.Config.Vocab
	for rest := c.want; len(rest) > 0; {
		n := min(len(rest), max(1, logitFloats/V))
		c.score(w, hidden, rest[:n], V)
		rest = rest[n:]
	}
}

// wanted lists the rows that a sequence's step must score: the last token's, and of a prompt those that the request
// asks about.
func (c *Scheduler) wanted(l *sequence) {
	last := len(l.tokens) - 1
	from := l.done
	if !l.prompting() || !l.s.wantsPrompt() {
		from = max(from, last)
	}
	for pos := from; pos < l.done+l.take; pos++ {
		if pos == last || l.s.scores(pos+1) {
			c.want = append(c.want, logitRow{l: l, row: l.first + pos - l.done, pos: pos})
		}
	}
}

// score computes rows of logits and uses each of them.
func (c *Scheduler) score(w *model.Weights, hidden []float32, want []logitRow, V int) {
	if cap(c.logits) < len(want)*V {
		c.logits = kernel.Aligned(len(want) * V)
	}
	c.rows = c.rows[:0]
	for _, x := range want {
		c.rows = append(c.rows, x.row)
	}
	logits := c.logits[:len(want)*V]
	c.Runner.Logits(w, c.seqs, hidden, c.rows, logits)
	c.Compute.P.Run(len(want), func(i int, _ *kernel.Scratch) { c.use(&want[i], logits[i*V:(i+1)*V]) })
	for i := range want {
		if x := &want[i]; !x.l.prompting() {
			c.extend(x.l, x.drawn)
		}
	}
}

// use draws a token from a row, or records its scores for the prompt. Rows are independent of each other.
func (c *Scheduler) use(x *logitRow, row []float32) {
	l, s, k := x.l, x.l.s, c.Compute.K
	if l.guide != nil && x.pos == len(l.tokens)-1 {
		l.guide.Shape(row)
	}
	lse := k.LogSumExp(row)
	if !l.prompting() {
		top := s.top(row, lse)
		for _, one := range l.samples {
			token := c.draw(row, s, one.stream, len(l.tokens)-len(s.prompt))
			x.drawn = append(x.drawn, drawnToken{token, logprob(row, lse, token), top, l.drawer()})
		}
		return
	}
	if next := x.pos + 1; next < len(l.tokens) {
		s.scorePrompt(c, next, row, lse)
		return
	}
	l.logits = slices.Clone(row)
}

func (c *Scheduler) draw(row []float32, s *Request, stream rng.Stream, t int) int32 {
	d := c.drawers.Get().(*drawer)
	defer c.drawers.Put(d)
	return d.draw(c.Compute.K, row, s, stream.Float64At(uint64(t)))
}

// branch is the samples of a sequence that have drawn one token, and what that makes of them.
type branch struct {
	samples []sample
	token   int32
	tail    []byte
	ended   bool
}

// extend appends the tokens that a sequence's samples have drawn. Those that have drawn what the first has stay in it,
// the others part. A sequence that has ended stays in the list, idle and without pages, until begin removes it.
func (c *Scheduler) extend(l *sequence, drawn []drawnToken) {
	c.streamed = c.streamed || l.s.drawn != nil
	branches := l.branches(drawn)
	for _, b := range branches[1:] {
		if !b.ended {
			l.part(b)
		}
	}
	b := branches[0]
	if !b.ended {
		l.guide = l.guided(b.token)
	}
	l.samples, l.tail, l.tokens = b.samples, b.tail, append(l.tokens, b.token)
	if b.ended {
		l.drop()
		l.done = len(l.tokens)
	}
}

// branches adds drawn tokens to the answers of the samples, and groups these. Samples that are equal end together.
func (l *sequence) branches(drawn []drawnToken) (list []branch) {
	for i, d := range drawn {
		at := slices.IndexFunc(list, func(b branch) bool { return b.token == d.token })
		if at < 0 {
			at = len(list)
			list = append(list, branch{token: d.token})
		}
		b, tail := &list[at], slices.Clone(l.tail)
		b.ended = l.s.sampled(l.samples[i].index, d, &tail)
		b.samples, b.tail = append(b.samples, l.samples[i]), tail
	}
	return list
}
