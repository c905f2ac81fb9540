package sampler

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// sequence is a sequence the scheduler computes: the prompt of a request, or those of its samples that have drawn the
// same tokens so far, each with its own random numbers. A sequence that has lost its pages recomputes its tokens, to
// the same bits.
type sequence struct {
	s       *Request
	samples []sample    // none: it is the prompt
	parted  []*sequence // of samples that have drawn another token than these in the present step
	tokens  []int32     // prompt, then what was drawn
	done    int         // tokens whose keys and values are in pages
	moves   []move      // changes of the weights, of an in-flight sampler's samples
	pages   []*cache.Page
	view    []*nn.Page   // the same
	memory  *nn.Memory   // of the tokens that are done, if the model has some
	tail    []byte       // see stops.after
	guide   tinker.Guide // after these tokens; nil for none
	logits  []float32    // [V] after the prompt, while samples have not begun; as the guide leaves them
	asked   bool         // the prefix cache was asked since the pages were last empty

	// for the present step
	take    int // tokens to compute
	first   int // row of the first of them
	planned bool
	short   bool // found no pages
	granted int  // samples that may begin
}

// sample is a sample by its number in the request.
type sample struct {
	index  int
	stream rng.Stream
}

func newPromptSequence(s *Request) *sequence {
	return &sequence{s: s, tokens: s.prompt, guide: s.guide}
}

func (l *sequence) cache() *cache.Cache { return l.s.version.Cache }

func (l *sequence) owner() *fair.Share { return l.s.queue.share.Owner }

// ready reports whether more samples of the sequence's prompt can begin.
func (l *sequence) ready() bool {
	return l.prompting() && l.logits != nil && l.s.next < l.s.n && !l.s.closed
}

// prompting reports whether the sequence is the prompt and not of samples.
func (l *sequence) prompting() bool { return len(l.samples) == 0 }

// guided is the guide after one more token.
func (l *sequence) guided(token int32) tinker.Guide {
	if l.guide == nil {
		return nil
	}
	return l.guide.After(token)
}

// last is the last token.
func (l *sequence) last() int32 { return l.tokens[len(l.tokens)-1] }

// idle reports whether there is nothing to compute: the sequence only waits to begin more samples.
func (l *sequence) idle() bool { return l.done == len(l.tokens) }

// resume takes the pages of the sequence's tokens that the prefix cache has. A prompt that is scored is computed
// completely.
func (l *sequence) resume() {
	if l.done > 0 || l.asked {
		return
	}
	l.asked = true
	if l.prompting() && l.s.wantsPrompt() {
		return
	}
	p := l.cache().Lookup(l.s.scope, l.tokens[:l.pure(len(l.tokens)-1)+1])
	l.add(p.Pages)
	l.memory = p.Memory
	l.done = len(l.pages) * cache.PageLen
	if l.prompting() && !l.s.looked { // later it finds the pages that it kept itself
		l.s.looked = true
		l.s.out.PromptCacheHitTokens = p.Own * cache.PageLen
	}
}

func (l *sequence) add(pages []*cache.Page) {
	for _, p := range pages {
		l.pages = append(l.pages, p)
		l.view = append(l.view, &p.Page)
	}
}

// room allocates pages for the next n tokens, and a memory before the first, and reports whether there was enough. With
// force it may exceed the budget.
func (l *sequence) room(n int, force bool) bool {
	first := l.cache().Remembers() && l.memory == nil
	if first {
		if l.memory = l.cache().Memory(force); l.memory == nil {
			return false
		}
	}
	missing := cache.PagesFor(l.done+n) - len(l.pages)
	if missing <= 0 {
		return true
	}
	pages := l.cache().Alloc(missing, force)
	l.add(pages)
	if pages == nil && first {
		l.forget()
	}
	return pages != nil
}

// forget releases the memory.
func (l *sequence) forget() {
	if l.memory != nil {
		l.cache().Forgotten(l.memory)
		l.memory = nil
	}
}

// drop releases the pages and the memory.
func (l *sequence) drop() {
	l.forget()
	l.cache().Release(l.pages)
	l.pages, l.view = l.pages[:0], l.view[:0]
	l.done, l.asked, l.logits = 0, false, nil
}

// computed records that the step's tokens are done, and adds full pages to the prefix cache.
func (l *sequence) computed() {
	before := l.done / cache.PageLen
	l.done += l.take
	if l.done/cache.PageLen == before {
		return
	}
	if l.memory != nil && (l.done != l.mark(l.done-l.take) || l.pure(l.done) < l.done) {
		return
	}
	l.cache().Keep(l.s.scope, l.tokens[:l.pure(l.done)], l.pages, l.memory)
	for i, p := range l.pages {
		l.view[i] = &p.Page
	}
}

const (
	markEvery = 512 // positions between two memories that are kept of a long prompt
	markFrom  = 256 // positions below which computing again costs less than keeping a memory
)

// mark is the first position after done at which the sequence's memory is kept: of its prompt, every 512 positions and
// the last full page that a prompt beginning with the same tokens can use; 0 is none.
func (l *sequence) mark(done int) int {
	last := (len(l.s.prompt) - 1) / cache.PageLen * cache.PageLen
	next := min(last, (done/markEvery+1)*markEvery)
	if last < markFrom || next <= done {
		return 0
	}
	return next
}

// fork makes the sequence of the next sample, which has drawn its first token. The last sample takes over the prompt's
// pages. fork returns nil if there are not enough pages.
func (l *sequence) fork(one sample, token int32, force bool) *sequence {
	s := l.s
	c := &sequence{s: s, samples: []sample{one}, asked: true, done: l.done, guide: l.guided(token)}
	if s.next == s.n-1 {
		c.pages, c.view, c.memory = l.pages, l.view, l.memory
		l.pages, l.view, l.memory = nil, nil, nil
	} else if !c.copyPages(l, force) {
		return nil
	}
	c.tokens = append(append(make([]int32, 0, len(l.tokens)+min(s.most, 256)), l.tokens...), token)
	return c
}

// copyPages shares the full pages of from and copies the partial one and the memory.
func (l *sequence) copyPages(from *sequence, force bool) bool {
	if from.memory != nil {
		if l.memory = l.cache().Memory(force); l.memory == nil {
			return false
		}
		l.memory.Copy(from.memory)
	}
	full := from.done / cache.PageLen
	if full < len(from.pages) {
		own := l.cache().Alloc(1, force)
		if own == nil {
			l.forget()
			return false
		}
		copy(own[0].Data, from.pages[full].Data)
		l.cache().Share(from.pages[:full])
		l.add(from.pages[:full])
		l.add(own)
		return true
	}
	l.cache().Share(from.pages)
	l.add(from.pages)
	return true
}

// sample returns a sample with its random numbers.
func (s *Request) sample(index int) sample {
	return sample{index, s.seed.Stream("sample", s.first+index)}
}

// part makes a sequence of samples that have drawn another token than the others. Without room for a page they
// recompute their tokens.
func (l *sequence) part(b branch) {
	c := &sequence{s: l.s, samples: b.samples, tail: b.tail, asked: true, done: l.done, moves: l.moves,
		guide: l.guided(b.token)}
	if !c.copyPages(l, false) {
		c.asked, c.done = false, 0
	}
	c.tokens = append(append(make([]int32, 0, cap(l.tokens)), l.tokens...), b.token)
	l.parted = append(l.parted, c)
}

// sampled adds a drawn token to the answer and reports whether the sample has ended.
func (s *Request) sampled(sample int, d drawnToken, tail *[]byte) bool {
	q := &s.out.Sequences[sample]
	if q.Tokens == nil {
		n := min(s.most, 128)
		q.Tokens, q.Logprobs = make([]int32, 0, n), make([]float32, 0, n)
	}
	q.Tokens, q.Logprobs = append(q.Tokens, d.token), append(q.Logprobs, d.logp)
	if d.top != nil {
		q.TopKLogprobs = append(q.TopKLogprobs, d.top)
	}
	version := d.note(q)
	switch {
	case s.stop.after(d.token, tail):
		q.StopReason = tinker.StopStop
	case len(q.Tokens) == s.most:
		q.StopReason = tinker.StopLength
	}
	if s.drawn != nil {
		s.drawn(tinker.Drawn{Sample: sample, Token: d.token, Logprob: d.logp, Top: d.top, Stop: q.StopReason,
			Version: version})
	}
	if q.StopReason == "" {
		return false
	}
	q.Tokens, q.Logprobs = slices.Clip(q.Tokens), slices.Clip(q.Logprobs)
	s.left--
	return true
}
