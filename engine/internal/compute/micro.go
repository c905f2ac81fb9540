package compute

import (
	"context"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// MicroBatch is data of one training run that is computed in one pass, which may have micro-batches of other runs too.
type microBatch struct {
	loss   loss.Loss
	items  []Item       // with the same number of targets per row
	into   *model.Grads // where their gradient is added; nil: it is not computed
	tokens int
}

func (m *microBatch) backward() bool { return m.into != nil }

// pass computes micro-batches in one pass. An error of one does not affect the others.
func (t *Loop) pass(jobs []*job) {
	seqs, pages, tokens := pagedSequences(jobs)
	defer jobs[0].version.Cache.Release(pages)
	w, back := jobs[0].version.W, jobs[0].backward()
	var tape *model.Tape
	if back {
		tape = t.tape(int64(tokens)*tapeBytes(w.Config, false) > t.Limits.TapeBytes)
	}
	hidden := t.Runner.Forward(w, seqs, tape)
	t.forwarded(jobs)
	rows := newRows(jobs, tokens)
	if !back {
		t.Runner.ScoreEntropy(w, seqs, hidden, rows.targets, rows.k, rows.logp, nil, nil, rows.entropies)
	} else {
		t.Runner.ScoreEntropy(w, seqs, hidden, rows.targets, rows.k, rows.logp, rows.gradient, tape, rows.entropies)
	}
	t.counters.pass(len(jobs), tokens, back)
	if rows.finish(jobs); !back {
		t.stopped(jobs)
		return
	}
	grads := make([]*model.Grads, len(jobs))
	for i, j := range jobs {
		if j.err == nil {
			grads[i] = j.into
		}
	}
	t.Runner.Backward(w, seqs, tape, grads...)
	t.stopped(jobs)
}

// forwarded sets the error of the jobs whose sequences the runner's Forward could not compute.
func (t *Loop) forwarded(jobs []*job) {
	at := 0
	for _, j := range jobs {
		for i := range j.items {
			if err := t.Runner.SeqErr(at + i); err != nil && j.err == nil {
				j.err = tinker.Userf("engine: model %s, datum %d: %w", j.m.ID, j.items[i].index, err)
			}
		}
		at += len(j.items)
	}
}

// stopped fails the jobs of a pass that was interrupted because the engine closes, and those that nobody wants.
func (t *Loop) stopped(jobs []*job) {
	for _, j := range jobs {
		if j.ctx != nil && j.ctx.Err() != nil {
			j.err = context.Cause(j.ctx)
		}
	}
	if !t.Group.Closing() {
		return
	}
	for _, j := range jobs {
		j.err = lifetime.Closed()
	}
}

// pagedSequences gives each item its pages.
func pagedSequences(jobs []*job) (seqs []model.Seq, pages []*cache.Page, tokens int) {
	total := 0
	for _, j := range jobs {
		for i := range j.items {
			total += cache.PagesFor(len(j.items[i].tokens))
		}
		tokens += j.tokens
	}
	pages = jobs[0].version.Cache.Alloc(total, true)
	rest := pages
	for _, j := range jobs {
		for i := range j.items {
			n := cache.PagesFor(len(j.items[i].tokens))
			view := make([]*nn.Page, n)
			for k := range view {
				view[k] = &rest[k].Page
			}
			rest = rest[n:]
			seqs = append(seqs, model.Seq{Tokens: j.items[i].tokens, Pages: view, Adapter: j.version.Adapter})
		}
	}
	return seqs, pages, tokens
}

// passRows is a pass's positions, one after another.
type passRows struct {
	k       int
	at      []rowPosition
	targets []int32 // none for a job that has failed
	logp    []float32
	bad     []bool // gradients that are not finite

	entropies *model.Entropies // nil unless asked for
}

// rowPosition is the position that a row computes.
type rowPosition struct {
	job *job
	it  *Item
	pos int
}

func newRows(jobs []*job, tokens int) *passRows {
	r := &passRows{k: jobs[0].items[0].K, at: make([]rowPosition, 0, tokens), bad: make([]bool, tokens)}
	for _, j := range jobs {
		for i := range j.items {
			it := &j.items[i]
			for pos := range it.tokens {
				r.at = append(r.at, rowPosition{j, it, pos})
			}
			from := len(r.targets)
			r.targets = append(r.targets, it.Targets...)
			for k := from; k < len(r.targets) && j.err != nil; k++ {
				r.targets[k] = -1
			}
		}
	}
	r.logp = make([]float32, len(r.targets))
	if jobs[0].loss.Entropic() {
		r.entropies = &model.Entropies{H: make([]float32, tokens), Centre: make([]float32, tokens),
			G: make([]float32, tokens)}
		for row, p := range r.at {
			_, g := p.job.loss.Entropy(p.it.Datum, p.pos, 0)
			r.entropies.G[row] = float32(g)
		}
	}
	return r
}

// gradient fills in dLoss/dlogp of a row.
func (r *passRows) gradient(row int, logp, g []float32) {
	p := r.at[row]
	if p.pos == 0 { // the logprobs of all rows are known before the first gradient is computed
		p.job.loss.Prepare(&p.it.Datum, r.logp[row*r.k:(row+p.it.N)*r.k])
	}
	p.job.loss.Row(p.it.Datum, p.pos, logp, g)
	r.bad[row] = !nn.Finite(g)
}

// finish hands the log-probabilities to their items and sums up the losses, position by position.
func (r *passRows) finish(jobs []*job) {
	row := 0
	for _, j := range jobs {
		for i := range j.items {
			it := &j.items[i]
			n := len(it.tokens)
			copy(it.logp, r.logp[row*r.k:(row+n)*r.k])
			if r.entropies != nil {
				copy(it.h, r.entropies.H[row:])
				copy(it.mid, r.entropies.Centre[row:])
			}
			if j.err == nil {
				j.err = j.sum(it, r.bad[row:row+n])
			}
			row += n
		}
	}
}

// sum adds up the loss of an item. bad says which rows' gradients are not finite.
func (j *job) sum(it *Item, bad []bool) error {
	j.loss.Prepare(&it.Datum, it.logp)
	for pos := range it.N {
		logp := it.logp[pos*it.K : (pos+1)*it.K]
		it.sum += j.loss.Row(it.Datum, pos, logp, nil)
		if it.h != nil {
			e, _ := j.loss.Entropy(it.Datum, pos, it.h[pos])
			it.sum += e
		}
		if !nn.Finite(logp) {
			return tinker.Userf("engine: model %s: the log-probability of datum %d at position %d is %v; the weights "+
				"have overflowed", j.m.ID, it.index, pos, logp)
		}
		if bad[pos] || math.IsNaN(it.sum) || math.IsInf(it.sum, 0) {
			return tinker.Userf("engine: model %s: %s of datum %d overflows at position %d (logprob %v)", j.m.ID,
				j.loss.Name(), it.index, pos, logp)
		}
	}
	return nil
}
