package engine

import (
	"context"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// microBatch is data of one training run that is computed in one pass, which may have micro-batches of other runs too.
type microBatch struct {
	loss   loss.Loss
	items  []checkedDatum // of the request or a part of it
	trees  *forest.Forest // of some of them
	into   *model.Grads   // where their gradient is added; nil: it is not computed
	tokens int            // of the trees
}

func (m *microBatch) backward() bool { return m.into != nil }

// each calls f for the items of the micro-batch, with their place in trees.
func (m *microBatch) each(f func(i int, it *checkedDatum)) {
	for i, s := range m.trees.Sequences {
		f(i, &m.items[s.Index])
	}
}

// pass computes micro-batches in one pass. An error of one does not affect the others.
func (t *computeLoop) pass(jobs []*job) {
	seqs, pages, rows := plant(jobs)
	defer jobs[0].r.version.cache.Release(pages)
	w, back := jobs[0].r.version.w, jobs[0].backward()
	var tape *model.Tape
	if back {
		tape = t.tape(int64(rows)*tapeBytes(w.Config, false) > t.e.opts.TapeBytes)
	}
	hidden := t.runner.Forward(w, seqs, tape)
	t.forwarded(jobs)
	p := newPositions(jobs, rows)
	if !back {
		t.runner.ScoreEntropy(w, seqs, hidden, p.targets, p.logp, nil, nil, p.entropies)
	} else {
		t.runner.ScoreEntropy(w, seqs, hidden, p.targets, p.logp, p.gradient, tape, p.entropies)
	}
	t.e.figures.pass(len(jobs), rows, back)
	if p.finish(jobs); !back {
		t.stopped(jobs)
		return
	}
	grads := make([]*model.Grads, len(jobs))
	for i, j := range jobs {
		if j.err == nil {
			grads[i] = j.into
		}
	}
	t.runner.Backward(w, seqs, tape, grads...)
	t.stopped(jobs)
}

// forwarded sets the error of the jobs whose sequences the runner's Forward could not compute.
func (t *computeLoop) forwarded(jobs []*job) {
	at := 0
	for _, j := range jobs {
		j.each(func(i int, it *checkedDatum) {
			for _, node := range j.trees.Sequences[i].Path {
				if err := t.runner.SeqErr(at + node); err != nil && j.err == nil {
					j.err = tinker.Userf("engine: model %s, datum %d: %w", j.r.id, it.index, err)
				}
			}
		})
		at += len(j.trees.Nodes)
	}
}

// stopped fails the jobs of a pass that was interrupted because the engine closes, and those that nobody wants.
func (t *computeLoop) stopped(jobs []*job) {
	for _, j := range jobs {
		if j.ctx != nil && j.ctx.Err() != nil {
			j.err = context.Cause(j.ctx)
		}
	}
	if t.e.ctx.Err() == nil {
		return
	}
	for _, j := range jobs {
		j.err = errClosed()
	}
}

// plant gives the trees of all jobs their pages.
func plant(jobs []*job) (seqs []model.Seq, pages []*cache.Page, rows int) {
	total := 0
	for _, j := range jobs {
		total += model.TreePages(j.trees)
		rows += j.tokens
	}
	pages = jobs[0].r.version.cache.Alloc(total, true)
	rest := pages
	take := func(n int) []*nn.Page {
		some := make([]*nn.Page, n)
		for i := range some {
			some[i] = &rest[i].Page
		}
		rest = rest[n:]
		return some
	}
	for _, j := range jobs {
		seqs = model.Trees(seqs, j.trees, j.r.version.adapter, take)
	}
	return seqs, pages, rows
}

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
	it  *checkedDatum
	pos int
}

func newPositions(jobs []*job, rows int) *positions {
	p := &positions{first: make([]int, rows+1)}
	eachStretch(jobs, func(_ *job, _ *checkedDatum, row, from, to int) {
		for t := row; t < row+to-from; t++ {
			p.first[t+1]++
		}
	})
	for t := range rows {
		p.first[t+1] += p.first[t]
	}
	p.of = make([]position, p.first[rows])
	next := append([]int(nil), p.first...)
	eachStretch(jobs, func(j *job, it *checkedDatum, row, from, to int) {
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
func eachStretch(jobs []*job, f func(j *job, it *checkedDatum, row, from, to int)) {
	begin := 0
	for _, j := range jobs {
		j.each(func(i int, it *checkedDatum) {
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
func (it *checkedDatum) targets(pos int) []int32 { return it.Targets[pos*it.K : (pos+1)*it.K] }

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
		if !finite(g[:k]) && !x.it.bad {
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
		j.each(func(_ int, it *checkedDatum) {
			if j.err == nil {
				j.err = j.sum(it)
			}
		})
	}
}

// sum adds up the loss of an item.
func (j *job) sum(it *checkedDatum) error {
	j.loss.Prepare(&it.Datum, it.logp)
	for pos := range it.N {
		logp := it.logp[pos*it.K : (pos+1)*it.K]
		it.sum += j.loss.Row(it.Datum, pos, logp, nil)
		if it.h != nil {
			e, _ := j.loss.Entropy(it.Datum, pos, it.h[pos])
			it.sum += e
		}
		if !finite(logp) {
			return tinker.Userf("engine: model %s: the log-probability of datum %d at position %d is %v; the weights "+
				"have overflowed", j.r.id, it.index, pos, logp)
		}
		if it.bad && it.badAt == pos || math.IsNaN(it.sum) || math.IsInf(it.sum, 0) {
			return tinker.Userf("engine: model %s: %s of datum %d overflows at position %d (logprob %v)", j.r.id,
				j.loss.Name(), it.index, pos, logp)
		}
	}
	return nil
}
