package training

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/spread"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// forward runs a request, with its gradient if backward is set.
func (r *Run) forward(req tinker.ForwardRequest, backward bool) (tinker.ForwardOutput, error) {
	l, items, err := compute.Check(r.id, r.Base, req)
	if err != nil {
		return tinker.ForwardOutput{}, err
	}
	if backward {
		err = r.gradient(req, l, items)
	} else {
		err = r.scores(req, l, items)
	}
	if err != nil {
		return tinker.ForwardOutput{}, err
	}
	return compute.Result(l, items), nil
}

// scores computes datums without a gradient.
func (r *Run) scores(req tinker.ForwardRequest, l loss.Loss, items []compute.Item) error {
	if len(items) == 0 {
		return nil
	}
	cut := r.t.Loop.Division.Parts(items)
	if r.t.spreads(cut) {
		if err := r.t.Spread.Train(r.work(req, l, cut)); !errors.Is(err, spread.ErrDoubted) {
			return err
		}
		compute.Clear(items)
	}
	for _, part := range cut {
		if err := r.run(l, part, nil); err != nil {
			return err
		}
	}
	return nil
}

// spreads reports whether other machines compute parts too. A gradient that is one part continues another.
func (t *Trainer) spreads(cut [][]compute.Item) bool {
	return t.Loop.Division.Part > 0 && t.Spread.Spreads(len(cut))
}

// run computes items on the compute loop. into gets their gradient, unless it is nil.
func (r *Run) run(l loss.Loss, items []compute.Item, into *model.Grads) error {
	return r.t.Loop.Run(r.t.Group.Context(), r.member, r.Version, l, items, into)
}

// work is a request whose parts are spread.
func (r *Run) work(req tinker.ForwardRequest, l loss.Loss, cut [][]compute.Item) spread.Work {
	return spread.Work{Member: r.member, Version: r.Version, Request: req, Loss: l, Parts: cut}
}
