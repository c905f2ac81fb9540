package training

import (
	"errors"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/spread"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// gradient adds the gradient of a request to the run's, which an error leaves as it was. Datums that teach nothing have
// no place in it, but in the older arithmetic, which counts them in its parts.
func (r *Run) gradient(req tinker.ForwardRequest, l loss.Loss, items []compute.Item) error {
	if r.t.Loop.Division.Tree == 0 {
		return r.teach(req, l, items)
	}
	silent, teaching := compute.Silent(l, items)
	if err := r.scores(req, l, silent); err != nil {
		return err
	}
	if err := r.teach(req, l, teaching); err != nil {
		return err
	}
	compute.Join(items, silent, teaching)
	return nil
}

// teach adds the gradient of datums to the run's, which an error leaves as it was. That of none is zero.
func (r *Run) teach(req tinker.ForwardRequest, l loss.Loss, items []compute.Item) error {
	if len(items) == 0 {
		r.Gathered = true
		return nil
	}
	undo := r.mark()
	cut := r.t.Loop.Division.Parts(items)
	if r.t.spreads(cut) {
		w := r.work(req, l, cut)
		w.Grads, w.Collect = r.Grads, r.collect
		err := r.t.Spread.Train(w)
		if err != nil {
			undo()
		}
		if !errors.Is(err, spread.ErrDoubted) {
			return err
		}
		compute.Clear(items)
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
func (r *Run) add(l loss.Loss, part []compute.Item) error {
	into := r.Grads
	apart := r.Gathered && r.t.Loop.Division.Part > 0
	if apart {
		into = r.apart()
	}
	r.Gathered = true
	if err := r.run(l, part, into); err != nil {
		return err
	}
	if apart {
		r.Grads.Add(into)
	}
	return r.sound()
}

// collect adds the gradient of one part that was computed apart.
func (r *Run) collect(part executor.Gradient) error {
	r.Grads.AddIndependent(part, !r.Gathered)
	r.Gathered = true
	return r.sound()
}

// sound refuses a gradient that is not finite.
func (r *Run) sound() error {
	if name := r.badGradient(); name != "" {
		return tinker.Userf("engine: model %s: the gradient of %s is not finite; it was left out", r.id, name)
	}
	return nil
}

// apart returns zero gradients for a part that is added to others.
func (s *State) apart() *model.Grads {
	if s.part == nil {
		s.part = model.NewGrads(s.Params)
	} else {
		s.part.Zero()
	}
	return s.part
}

// mark returns a function that sets the gradient back to what it is now.
func (s *State) mark() (undo func()) {
	if !s.Gathered {
		return s.clear
	}
	accumulators := s.Grads.Accumulators()
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
func (s *State) clear() {
	if s.Gathered {
		s.Grads.Zero()
		s.Gathered = false
	}
}

// badGradient names a gradient tensor that is not finite, "" if there is none.
func (s *State) badGradient() string {
	for _, t := range s.Grads.T {
		if !nn.Finite(t.Data) {
			return t.Name
		}
	}
	return ""
}
