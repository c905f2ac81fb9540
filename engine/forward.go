package engine

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// forward runs a request, with its gradient if backward is set.
func (r *trainingRun) forward(req tinker.ForwardRequest, backward bool) (tinker.ForwardOutput, error) {
	l, items, err := check(r.id, r.base, req)
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
	return result(items), nil
}

// scores computes a request without a gradient.
func (r *trainingRun) scores(req tinker.ForwardRequest, l loss.Loss, items []item) error {
	if cut := parts(items, r.t.part); r.t.spread.spreads(len(cut)) {
		if err := r.t.spread.train(r.work(req, l, cut)); !errors.Is(err, errDoubted) {
			return err
		}
		clearResults(items)
	}
	return r.run(l, items, nil)
}

// run computes items on the compute loop. into gets their gradient, unless it is nil.
func (r *trainingRun) run(l loss.Loss, items []item, into *model.Grads) error {
	return r.t.loop.run(r.t.group.context(), r.member, r.version, l, items, into)
}

// work is a request whose parts are spread.
func (r *trainingRun) work(req tinker.ForwardRequest, l loss.Loss, cut [][]item) spreadWork {
	return spreadWork{member: r.member, version: r.version, request: req, loss: l, parts: cut}
}
