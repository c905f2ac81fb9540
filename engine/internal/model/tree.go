package model

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Trees appends the nodes of a forest to the sequences of a call. pages allocates that many zeroed pages.
func Trees(seqs []Seq, f *forest.Forest, adapter *Adapter, pages func(n int) []*nn.Page) []Seq {
	at := len(seqs)
	for _, n := range f.Nodes {
		seqs = append(seqs, Seq{Tokens: n.Tokens, Pos: n.Pos, Adapter: adapter})
	}
	for i, n := range f.Nodes {
		s := &seqs[at+i]
		full := n.Pos / kernel.PageLen
		s.Pages = append(s.Pages, pages((n.Pos+len(n.Tokens)+kernel.PageLen-1)/kernel.PageLen-full)...)
		for _, next := range n.Next {
			s.Next = append(s.Next, at+next)
			seqs[at+next].Pages = append([]*nn.Page(nil), s.Pages[:f.Nodes[next].Pos/kernel.PageLen]...)
		}
	}
	return seqs
}

// TreePages is the number of pages that Trees allocates.
func TreePages(f *forest.Forest) (n int) {
	for _, node := range f.Nodes {
		n += (node.Pos+len(node.Tokens)+kernel.PageLen-1)/kernel.PageLen - node.Pos/kernel.PageLen
	}
	return n
}

// fork is positions from to to-1 of a sequence, which are also on a page of one that continues it.
type fork struct {
	from, to int
	pages    []*nn.Page
}

// findForks finds the positions that several pages hold: a sequence that begins within a page has the positions before
// it on a page of its own.
func (p *pass) findForks() error {
	var before []int // by sequence: 1 + the one it continues
	for i, s := range p.seqs {
		for _, next := range s.Next {
			if next <= i || next >= len(p.seqs) {
				return fmt.Errorf("model: sequence %d of %d cannot be continued by %d, which is not a later one", i,
					len(p.seqs), next)
			}
			if before == nil {
				before = make([]int, len(p.seqs))
				p.forks = map[int][]fork{}
			}
			if end := s.Pos + len(s.Tokens); before[next] > 0 || p.seqs[next].Pos != end {
				return fmt.Errorf("model: sequence %d, which begins at position %d, cannot continue sequence %d, "+
					"which ends at %d", next, p.seqs[next].Pos, i, end)
			}
			before[next] = i + 1
		}
	}
	for i := range before {
		pos := p.seqs[i].Pos
		first := pos - pos%kernel.PageLen
		for at := before[i] - 1; at >= 0 && pos > first; at = before[at] - 1 {
			from := max(first, p.seqs[at].Pos)
			p.forks[at] = append(p.forks[at], fork{from, pos, p.seqs[i].Pages})
			pos = from
		}
	}
	return nil
}

// fillForks stores the keys and values of sequence i's rows from position pos on in the pages of those that continue
// it.
func (p *pass) fillForks(i, l, pos int, sc *kernel.Scratch, keys, values nn.Rows) {
	for _, f := range p.forks[i] {
		from, to := max(f.from, pos), min(f.to, pos+keys.Len())
		if from < to {
			k, v := keys.Slice(from-pos, to-pos), nn.Rows{Data: values.Data[(from-pos)*values.Cols:], Cols: values.Cols}
			p.w.Config.Pages().StoreRows(p.K, sc, f.pages, from, p.w.Config.place(l), k, v)
		}
	}
}

// plant lists the stretches and the roots of a backward.
func (p *pass) plant() {
	p.stretches, p.roots, p.prev = make([]nn.Stretch, len(p.seqs)), p.roots[:0], make([]int, p.rows())
	for t := range p.prev {
		p.prev[t] = t - 1
	}
	continues := make([]bool, len(p.seqs))
	for i, s := range p.seqs {
		p.stretches[i] = nn.Stretch{From: p.start[i], To: p.start[i+1], Pos: s.Pos, Pages: s.Pages, Next: s.Next,
			Memory: s.Memory}
		if !continues[i] && p.start[i] < p.start[i+1] {
			p.prev[p.start[i]] = -1
		}
		for _, next := range s.Next {
			if continues[next] = true; p.start[next] < p.start[next+1] {
				p.prev[p.start[next]] = p.start[i+1] - 1
			}
		}
		if !continues[i] {
			p.roots = append(p.roots, i)
		}
	}
}
