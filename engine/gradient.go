package engine

import (
	"errors"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The gradient of a request is a sum of parts. A part is the gradient of consecutive datums, begun at zero, and depends
// on nothing else than them and the weights; the parts are added to the run's gradient in their order. So whoever
// computes a part, and wherever, the sum has the same bits.

// parts cuts a request's datums: consecutive ones whose trees have at most a.part tokens together, or a longer one
// alone.
func (a arithmetic) parts(items []checkedDatum) [][]checkedDatum {
	if a.part == 0 {
		return [][]checkedDatum{items}
	}
	var all [][]checkedDatum
	from, f := 0, forest.Grow(a.tree)
	for i := range items {
		if i > from && f.Tokens+f.Missing(items[i].tokens) > a.part {
			all = append(all, items[from:i])
			from, f = i, forest.Grow(a.tree)
		}
		f.Add(items[i].tokens)
	}
	return append(all, items[from:])
}

// gradient adds the gradient of a request to the run's, which an error leaves as it was. Datums that teach nothing have
// no part in it, except in older arithmetics, whose parts they are counted in.
func (r *trainingRun) gradient(req tinker.ForwardRequest, l loss.Loss, items []checkedDatum) error {
	if r.e.numerics.tree == 0 {
		return r.teach(req, l, items)
	}
	var teaching, silent []checkedDatum
	for _, it := range items {
		if l.Silent(it.Datum) {
			silent = append(silent, it)
		} else {
			teaching = append(teaching, it)
		}
	}
	if err := r.scores(req, l, silent); err != nil {
		return err
	}
	if err := r.teach(req, l, teaching); err != nil {
		return err
	}
	for _, it := range append(silent, teaching...) {
		items[it.index] = it
	}
	return nil
}

// teach adds the gradient of datums to the run's, which an error leaves as it was. That of none is zero.
func (r *trainingRun) teach(req tinker.ForwardRequest, l loss.Loss, items []checkedDatum) error {
	if len(items) == 0 {
		r.gathered = true
		return nil
	}
	undo := r.mark()
	parts := r.e.numerics.parts(items)
	if r.e.numerics.part > 0 && r.spreads(parts) {
		err := r.spreadOver(req, l, parts, r.collect)
		if err != nil {
			undo()
		}
		if !errors.Is(err, errDoubted) {
			return err
		}
		clearResults(items)
	}
	for _, part := range parts {
		if err := r.add(l, part); err != nil {
			undo()
			return err
		}
	}
	return nil
}

// add adds the gradient of one part.
func (r *trainingRun) add(l loss.Loss, part []checkedDatum) error {
	into := r.grads
	apart := r.gathered && r.e.numerics.part > 0
	if apart {
		into = r.apart()
	}
	r.gathered = true
	if err := r.pass(r.e.ctx, l, part, into); err != nil {
		return err
	}
	if apart {
		r.grads.Add(into)
	}
	return r.sound()
}

// collect adds the gradient of one part that was computed apart.
func (r *trainingRun) collect(part executor.Gradient) error {
	r.grads.AddIndependent(part, !r.gathered)
	r.gathered = true
	return r.sound()
}

// sound refuses a gradient that is not finite.
func (r *trainingRun) sound() error {
	if name := r.badGradient(); name != "" {
		return tinker.Userf("engine: model %s: the gradient of %s is not finite; it was left out", r.id, name)
	}
	return nil
}

// apart returns zero gradients for a part that is added to others.
func (s *trainingState) apart() *model.Grads {
	if s.part == nil {
		s.part = model.NewGrads(s.params)
	} else {
		s.part.Zero()
	}
	return s.part
}

// mark returns a function that sets the gradient back to what it is now.
func (s *trainingState) mark() (undo func()) {
	if !s.gathered {
		return s.clear
	}
	accumulators := s.grads.Accumulators()
	old := make([][]float32, len(accumulators))
	for i, a := range accumulators {
		old[i] = slices.Clone(a)
	}
	return func() {
		for i, a := range accumulators {
			copy(a, old[i])
		}
	}
}

// clear empties the gradient.
func (s *trainingState) clear() {
	if s.gathered {
		s.grads.Zero()
		s.gathered = false
	}
}

// badGradient names a gradient tensor that is not finite, "" if there is none.
func (s *trainingState) badGradient() string {
	for _, t := range s.grads.T {
		if !finite(t.Data) {
			return t.Name
		}
	}
	return ""
}
