package compute

import (
	"context"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// microBatch is data of one training run that is computed in one pass, which may have micro-batches of other runs too.
type microBatch struct {
	loss   loss.Loss
	items  []Item         // of the request or a part of it
	trees  *forest.Forest // of some of them
	into   *model.Grads   // where their gradient is added; nil: it is not computed
	tokens int            // of the trees
}

func (m *microBatch) backward() bool { return m.into != nil }

// each calls f for the items of the micro-batch, with their place in trees.
func (m *microBatch) each(f func(i int, it *Item)) {
	for i, s := range m.trees.Sequences {
		f(i, &m.items[s.Index])
	}
}

// pass computes micro-batches in one pass. An error of one does not affect the others.
func (t *Loop) pass(jobs []*job) {
	seqs, pages, rows := plant(jobs)
	defer jobs[0].version.Cache.Release(pages)
	w, back := jobs[0].version.W, jobs[0].backward()
	var tape *model.Tape
	if back {
		tape = t.tape(int64(rows)*tapeBytes(w.Config, false) > t.Limits.TapeBytes)
	}
	hidden := t.Runner.Forward(w, seqs, tape)
	t.forwarded(jobs)
	p := newPositions(jobs, rows)
	if !back {
		t.Runner.ScoreEntropy(w, seqs, hidden, p.targets, p.logp, nil, nil, p.entropies)
	} else {
		t.Runner.ScoreEntropy(w, seqs, hidden, p.targets, p.logp, p.gradient, tape, p.entropies)
	}
	t.counters.pass(len(jobs), rows, back)
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
	t.Runner.Backward(w, seqs, tape, grads...)
	t.stopped(jobs)
}

// forwarded sets the error of the jobs whose sequences the runner's Forward could not compute.
func (t *Loop) forwarded(jobs []*job) {
	at := 0
	for _, j := range jobs {
		j.each(func(i int, it *Item) {
			for _, node := range j.trees.Sequences[i].Path {
				if err := t.Runner.SeqErr(at + node); err != nil && j.err == nil {
					j.err = tinker.Userf("engine: model %s, datum %d: %w", j.m.ID, it.index, err)
				}
			}
		})
		at += len(j.trees.Nodes)
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

// plant gives the trees of all jobs their pages.
func plant(jobs []*job) (seqs []model.Seq, pages []*cache.Page, rows int) {
	total := 0
	for _, j := range jobs {
		total += model.TreePages(j.trees)
		rows += j.tokens
	}
	pages = jobs[0].version.Cache.Alloc(total, true)
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
		seqs = model.Trees(seqs, j.trees, j.version.Adapter, take)
	}
	return seqs, pages, rows
}

// sum adds up the loss of an item.
func (j *job) sum(it *Item) error {
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
		if it.bad && it.badAt == pos || math.IsNaN(it.sum) || math.IsInf(it.sum, 0) {
			return tinker.Userf("engine: model %s: %s of datum %d overflows at position %d (logprob %v)", j.m.ID,
				j.loss.Name(), it.index, pos, logp)
		}
	}
	return nil
}
