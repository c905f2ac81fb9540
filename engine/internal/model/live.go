package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// A row teaches nothing if the loss has no derivative at it nor at a later row of its sequence or of one that continues
// it: it adds zeros to every gradient. Backward leaves such rows out. They are the last ones of a sequence, so the
// others keep their places in the blocks of sums, and the gradients keep their bits.

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

// prune returns p without the rows that teach nothing, which the tape loses too.
func (p *pass) prune(tape *Tape) (*pass, error) {
	keep := p.live(&tape.score)
	seqs, rows := slices.Clone(p.seqs), moves{}
	for i := range seqs {
		rows = append(rows, move{rows.end(), p.start[i], keep[i]})
		seqs[i].Tokens = seqs[i].Tokens[:keep[i]]
	}
	if rows.end() == p.rows() {
		return p, nil
	}
	held := p.back.held == &tape.score
	tape.move(p.w.Config, rows, p.rank)
	logits := tape.score.move(rows)
	if held {
		logits.rows(&p.back.head.logits)
	}
	return p.newPass(p.w, seqs)
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
		for _, x := range a.columns(c, rank) {
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

// move drops the rows that are not kept and returns how those of the others' logits move.
func (s *score) move(m moves) (logits moves) {
	old := *s
	s.rows, s.first, s.targets, s.g, s.lse = nil, []int{0}, nil, nil, nil
	for _, x := range m {
		from, _ := slices.BinarySearch(old.rows, x.from)
		to, _ := slices.BinarySearch(old.rows, x.from+x.n)
		logits = append(logits, move{len(s.rows), from, to - from})
		for i := from; i < to; i++ {
			s.rows = append(s.rows, old.rows[i]-x.from+x.to)
			s.targets = append(s.targets, old.targets[old.first[i]:old.first[i+1]]...)
			s.g = append(s.g, old.g[old.first[i]:old.first[i+1]]...)
			s.first = append(s.first, len(s.targets))
		}
		s.lse = append(s.lse, old.lse[from:to]...)
	}
	if len(old.e) > 0 {
		logits.floats(&s.h, 1)
		logits.floats(&s.e, 1)
	}
	return logits
}
