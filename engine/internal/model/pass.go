package model

import (
	"fmt"
	"sort"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// pass is one call over the rows of some sequences.
type pass struct {
	*Runner
	w        *Weights
	seqs     []Seq
	start    []int // [len(seqs)+1] first row of each sequence
	segments []segment
	forks    map[int][]fork // pages that a sequence's rows fill for those that continue it
	rank     int            // largest rank of an adapter
	table    *nn.RoPETable
	local    *nn.RoPETable // of sliding layers, or nil
	layers   []acts
	// of a backward and of layers without attention:
	stretches []nn.Stretch // the sequences
	roots     []int        // the sequences that continue none
	prev      []int        // of each row: the one of the position before, -1 for none
	last      nn.Rows      // [T,D] input of the final norm
	invF      []float32    // [T]
	hidden    nn.Rows      // [T,D]
}

// segment is rows a to b-1, which have the same adapter.
type segment struct {
	adapter *Adapter
	a, b    int
	grads   *Grads // the gradients to which Backward adds; nil trains nothing
}

// newPass packs the rows of a call. It returns an error for sequences that cannot be computed.
func (r *Runner) newPass(w *Weights, seqs []Seq) (*pass, error) {
	p := &pass{Runner: r, w: w, seqs: seqs, start: make([]int, len(seqs)+1)}
	end := 0
	for i, s := range seqs {
		a, b := p.start[i], p.start[i]+len(s.Tokens)
		p.start[i+1] = b
		end = max(end, s.Pos+len(s.Tokens))
		if s.Adapter != nil {
			p.rank = max(p.rank, s.Adapter.LoRA.Rank)
		}
		if n := len(p.segments); n > 0 && p.segments[n-1].adapter == s.Adapter {
			p.segments[n-1].b = b
		} else {
			p.segments = append(p.segments, segment{adapter: s.Adapter, a: a, b: b})
		}
		if err := w.checkSeq(s); err != nil {
			return nil, fmt.Errorf("model: sequence %d: %w", i, err)
		}
	}
	if err := p.findForks(); err != nil {
		return nil, err
	}
	if w.Config.Linear != nil {
		p.plant()
	}
	if w.Config.Arch.Delta {
		if err := p.checkMemory(); err != nil {
			return nil, err
		}
	}
	p.table = w.rope.Table(end)
	if w.local != nil {
		p.local = w.local.Table(end)
	}
	return p, nil
}

func (w *Weights) checkSeq(s Seq) error {
	if s.Pos < 0 || len(s.Pages)*kernel.PageLen < s.Pos+len(s.Tokens) {
		return fmt.Errorf("%d pages of %d positions do not cover %d tokens at position %d", len(s.Pages),
			kernel.PageLen, len(s.Tokens), s.Pos)
	}
	for _, p := range s.Pages {
		if p == nil || len(p.Data) != w.Config.Pages().Floats() {
			return fmt.Errorf("a page is missing or has another model's size; this one's have %d floats",
				w.Config.Pages().Floats())
		}
	}
	for _, t := range s.Tokens {
		if t < 0 || int(t) >= w.Config.Vocab {
			return fmt.Errorf("token %d is outside the vocabulary of %d", t, w.Config.Vocab)
		}
	}
	return nil
}

func (p *pass) rows() int { return p.start[len(p.seqs)] }

// eachSegment calls f for the stretches of rows a to b-1 whose adapter has the addition pick names.
func (p *pass) eachSegment(a, b int, pick func(*Adapter) *nn.LoRA, f func(l *nn.LoRA, a, b int)) {
	for _, u := range p.segments {
		from, to := max(a, u.a), min(b, u.b)
		if u.adapter == nil || from >= to {
			continue
		}
		if l := pick(u.adapter); l != nil {
			f(l, from, to)
		}
	}
}

// eachSeq calls f for the stretches of rows a to b-1 that belong to one sequence, with its index.
func (p *pass) eachSeq(a, b int, f func(i int, s Seq, a, b int)) {
	lo, hi := 0, len(p.seqs) // the first sequence that ends after a
	for lo < hi {
		if mid := (lo + hi) / 2; p.start[mid+1] > a {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	for i := lo; i < len(p.seqs) && p.start[i] < b; i++ {
		if from, to := max(a, p.start[i]), min(b, p.start[i+1]); from < to {
			s := p.seqs[i]
			s.Tokens = s.Tokens[from-p.start[i]:]
			s.Pos += from - p.start[i]
			f(i, s, from, to)
		}
	}
}

// mark records the sequences among rows a to b-1 that inv shows to be not finite at place (a layer, or Layers for the
// final norm).
func (p *pass) mark(place int, inv []float32, a, b int) {
	for t := a; t < b; t++ {
		if inv[t] > 0 {
			continue
		}
		at := &p.bad[sort.Search(len(p.seqs), func(i int) bool { return p.start[i+1] > t })]
		for {
			old := at.Load()
			if old != 0 && int(old) <= place+1 || at.CompareAndSwap(old, int32(place+1)) {
				break
			}
		}
	}
}

// notFinite turns a mark into an error.
func notFinite(at int) error {
	switch at {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("model: the embedding is not finite; the weights are damaged")
	default:
		return fmt.Errorf("model: not finite after layer %d; a lower learning rate or float32 weights may help", at-2)
	}
}
