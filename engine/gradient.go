package engine

import (
	"errors"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// gradient adds the gradient of a request to the run's, which an error leaves as it was.
func (r *trainingRun) gradient(req tinker.ForwardRequest, l loss.Loss, items []item) error {
	undo := r.mark()
	cut := parts(items, r.t.part)
	if r.t.spread.spreads(len(cut)) {
		w := r.work(req, l, cut)
		w.grads, w.collect = r.grads, r.collect
		err := r.t.spread.train(w)
		if err != nil {
			undo()
		}
		if !errors.Is(err, errDoubted) {
			return err
		}
		clearResults(items)
	}
	for _, part := range cut {
		if err := r.add(l, part); err != nil {
			undo()
			return err
		}
	}
	return nil
}

// add adds the gradient of one part.
func (r *trainingRun) add(l loss.Loss, part []item) error {
	into := r.grads
	apart := r.gathered
	if apart {
		into = r.apart()
	}
	r.gathered = true
	if err := r.run(l, part, into); err != nil {
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
		if !nn.Finite(t.Data) {
			return t.Name
		}
	}
	return ""
}
