package compute

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// positions are those of a pass's items, row by row: a row that items share is a position of each.
type positions struct {
	of      []position
	first   []int // [rows+1] those of row t are of[first[t]:first[t+1]]
	targets model.Targets
	logp    []float32
	handed  bool // logp to the items

	entropies *model.Entropies // nil unless asked for
}

type position struct {
	job *job
	it  *Item
	pos int
}

func newPositions(jobs []*job, rows int) *positions {
	p := &positions{first: make([]int, rows+1)}
	eachStretch(jobs, func(_ *job, _ *Item, row, from, to int) {
		for t := row; t < row+to-from; t++ {
			p.first[t+1]++
		}
	})
	for t := range rows {
		p.first[t+1] += p.first[t]
	}
	p.of = make([]position, p.first[rows])
	next := slices.Clone(p.first)
	eachStretch(jobs, func(j *job, it *Item, row, from, to int) {
		for pos := from; pos < to; pos++ {
			at := &next[row+pos-from]
			p.of[*at] = position{j, it, pos}
			*at++
		}
	})
	p.aim(rows)
	if jobs[0].loss.Entropic() {
		p.askEntropies(rows)
	}
	return p
}

// eachStretch calls f for the stretches of all items: the rows from row on are positions from to to-1.
func eachStretch(jobs []*job, f func(j *job, it *Item, row, from, to int)) {
	begin := 0
	for _, j := range jobs {
		j.each(func(i int, it *Item) {
			j.trees.Each(i, func(row, from, to int) { f(j, it, begin+row, from, to) })
		})
		begin += j.tokens
	}
}

// aim sets the targets of all rows: those of each position, or none for a job that has failed.
func (p *positions) aim(rows int) {
	t := &p.targets
	t.First = make([]int, 1, rows+1)
	for row := range rows {
		for _, x := range p.at(row) {
			for _, id := range x.it.targets(x.pos) {
				if x.job.err != nil {
					id = -1
				}
				t.Tokens = append(t.Tokens, id)
			}
		}
		t.First = append(t.First, len(t.Tokens))
	}
	p.logp = make([]float32, len(t.Tokens))
}

// targets are those of a position.
func (it *Item) targets(pos int) []int32 { return it.Targets[pos*it.K : (pos+1)*it.K] }

func (p *positions) at(row int) []position { return p.of[p.first[row]:p.first[row+1]] }

// askEntropies asks for the entropies of all rows. The loss's derivative by a row's is the sum of its positions'.
func (p *positions) askEntropies(rows int) {
	p.entropies = &model.Entropies{H: make([]float32, rows), Centre: make([]float32, rows), G: make([]float32, rows)}
	for row := range rows {
		for _, x := range p.at(row) {
			_, g := x.job.loss.Entropy(x.it.Datum, x.pos, 0)
			p.entropies.G[row] += float32(g)
		}
	}
}

// gradient fills in dLoss/dlogp of a row's targets.
func (p *positions) gradient(row int, logp, g []float32) {
	if !p.handed {
		p.hand()
	}
	for _, x := range p.at(row) {
		if x.pos == 0 {
			x.job.loss.Prepare(&x.it.Datum, x.it.logp)
		}
		k := x.it.K
		x.job.loss.Row(x.it.Datum, x.pos, logp[:k], g[:k])
		if !nn.Finite(g[:k]) && !x.it.bad {
			x.it.bad, x.it.badAt = true, x.pos
		}
		logp, g = logp[k:], g[k:]
	}
}

// hand gives the items their log-probabilities, which are all known before the first gradient is computed, and their
// entropies.
func (p *positions) hand() {
	p.handed = true
	for row := range len(p.first) - 1 {
		logp := p.logp[p.targets.First[row]:]
		for _, x := range p.at(row) {
			copy(x.it.logp[x.pos*x.it.K:], logp[:x.it.K])
			logp = logp[x.it.K:]
			if p.entropies != nil {
				x.it.h[x.pos], x.it.mid[x.pos] = p.entropies.H[row], p.entropies.Centre[row]
			}
		}
	}
}

// finish sums up the losses of the items, position by position.
func (p *positions) finish(jobs []*job) {
	if !p.handed {
		p.hand()
	}
	for _, j := range jobs {
		j.each(func(_ int, it *Item) {
			if j.err == nil {
				j.err = j.sum(it)
			}
		})
	}
}
