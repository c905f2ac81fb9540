package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// A row teaches nothing if the loss has no derivative at it nor at a later row of its sequence or of one that continues
// it: it adds zeros to every gradient. Backward leaves such rows out. They are the last ones of a sequence, so the
// others keep their places in the blocks of sums, and the gradients keep their bits, but for the sign of an element
// that has underflowed to -0: a further zero would make it +0.

// live returns how many rows of each sequence Backward computes.
func (p *pass) live(s *score) []int {
	keep := make([]int, len(p.seqs))
	for i := len(p.seqs) - 1; i >= 0; i-- {
		a, b := p.start[i], p.start[i+1]
		if slices.ContainsFunc(p.seqs[i].Next, func(next int) bool { return keep[next] > 0 }) {
			keep[i] = b - a
			continue
		}
		from, _ := slices.BinarySearch(s.rows, a)
		to, _ := slices.BinarySearch(s.rows, b)
		for to > from && !s.teaches(to-1) {
			to--
		}
		if to > from {
			keep[i] = s.rows[to-1] - a + 1
		}
	}
	return keep
}

// teaches reports whether the loss has a derivative at s.rows[i].
func (s *score) teaches(i int) bool {
	return slices.ContainsFunc(s.g[s.first[i]:s.first[i+1]], func(g float32) bool { return g != 0 }) ||
		len(s.e) > 0 && s.e[i] != 0
}

// prune returns p without the rows that teach nothing, which the tape loses too. The head loses all rows at which the
// loss has no derivative, unless it is trained itself: their places count in its gradient.
func (p *pass) prune(tape *Tape) (*pass, error) {
	keep := p.live(&tape.score)
	seqs, rows := slices.Clone(p.seqs), moves{}
	for i := range seqs {
		rows = append(rows, move{rows.end(), p.start[i], keep[i]})
		seqs[i].Tokens = seqs[i].Tokens[:keep[i]]
		seqs[i].Next = slices.DeleteFunc(slices.Clone(seqs[i].Next), func(next int) bool { return keep[next] == 0 })
	}
	held := p.back.held == &tape.score
	scored := tape.score.move(rows, p.trainsHead())
	if h := &p.back.head; held {
		for _, r := range []*nn.Rows{&h.x, &h.mid, &h.logits} {
			scored.rows(r)
		}
	}
	if rows.end() == p.rows() {
		return p, nil
	}
	tape.move(p.w.Config, rows, p.rank)
	return p.newPass(p.w, seqs)
}

// trainsHead reports whether a gradient of the unembedding or of the final norm may be asked for.
func (p *pass) trainsHead() bool {
	return slices.ContainsFunc(p.segments, func(u segment) bool { return u.adapter == nil || u.adapter.head != nil })
}

// move is n rows that go from a place to an earlier one.
type move struct{ to, from, n int }

// moves keep the order of rows.
type moves []move

// end is the number of rows that are kept.
func (m moves) end() int {
	if len(m) == 0 {
		return 0
	}
	return m[len(m)-1].to + m[len(m)-1].n
}

func (m moves) floats(v *[]float32, cols int) {
	for _, x := range m {
		copy((*v)[x.to*cols:], (*v)[x.from*cols:(x.from+x.n)*cols])
	}
	*v = (*v)[:m.end()*cols]
}

func (m moves) rows(r *nn.Rows) { m.floats(&r.Data, r.Cols) }

// move moves the rows of everything that a tape keeps.
func (t *Tape) move(c Config, m moves, rank int) {
	nActs, nX := t.kept(c)
	for i := range nActs {
		a := &t.acts[i]
		for _, x := range a.columns(c, rank, t.layer(i, nActs)) {
			m.rows(x.rows)
		}
		for _, v := range a.norms(c) {
			m.floats(v, 1)
		}
	}
	for i := range nX {
		m.rows(&t.x[i])
	}
	m.floats(&t.invF, 1)
	m.rows(&t.hidden)
}

// move drops the rows that are not kept and, unless all is set, those at which the loss has no derivative. It returns
// how the others move among the scored rows.
func (s *score) move(m moves, all bool) (scored moves) {
	old := *s
	s.rows, s.first, s.targets, s.g, s.lse = nil, []int{0}, nil, nil, nil
	for _, x := range m {
		from, _ := slices.BinarySearch(old.rows, x.from)
		to, _ := slices.BinarySearch(old.rows, x.from+x.n)
		for i := from; i < to; i++ {
			if !all && !old.teaches(i) {
				continue
			}
			if n := len(scored); n > 0 && scored[n-1].from+scored[n-1].n == i {
				scored[n-1].n++
			} else {
				scored = append(scored, move{len(s.rows), i, 1})
			}
			s.rows = append(s.rows, old.rows[i]-x.from+x.to)
			s.targets = append(s.targets, old.targets[old.first[i]:old.first[i+1]]...)
			s.g = append(s.g, old.g[old.first[i]:old.first[i+1]]...)
			s.first, s.lse = append(s.first, len(s.targets)), append(s.lse, old.lse[i])
		}
	}
	if len(old.e) > 0 {
		scored.floats(&s.h, 1)
		scored.floats(&s.e, 1)
	}
	return scored
}
