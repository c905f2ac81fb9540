package engine

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trainingState is what requests change.
type trainingState struct {
	params   []model.Tensor // the trainable ones, f32
	opt      optimizer
	grads    *model.Grads // same names and shapes as params
	gathered bool         // grads is not zero
	part     *model.Grads // of the part being computed, if grads has others; nil until then
	version  *version     // params, packed
}

// install sets the state to params, which it keeps, and opt, without a gradient. params are sorted by name: sums over
// tensors must run in the same order wherever the tensors came from.
func (r *trainingRun) install(params []model.Tensor, opt optimizer, root *version) error {
	v, err := r.t.memory.pack(r.shape, params, root)
	if err != nil {
		return err
	}
	r.trainingState = trainingState{params: params, opt: opt, grads: model.NewGrads(params), version: v}
	return nil
}

// step applies the gathered gradient and clears it.
func (r *trainingRun) step(req tinker.OptimStepRequest) (tinker.OptimStepOutput, error) {
	if err := r.fitsOptimizer(req); err != nil {
		return tinker.OptimStepOutput{}, err
	}
	memory, err := r.reserve() // first: a step that fails must change nothing
	if err != nil {
		return tinker.OptimStepOutput{}, fmt.Errorf("engine: %w", err)
	}
	var norm float64
	closed := r.t.loop.alone(r.member, func() { norm, err = r.update(req) })
	if closed != nil {
		return tinker.OptimStepOutput{}, closed
	}
	if err != nil {
		var known *tinker.Error
		if !errors.As(err, &known) {
			err = tinker.Userf("engine: optim_step %d of model %s: %w", r.opt.steps()+1, r.id, err)
		}
		return tinker.OptimStepOutput{}, err
	}
	v, err := r.t.memory.packIn(r.shape, memory, r.params, r.version) // runs beside other computations: packing needs no turn
	if err != nil {
		return tinker.OptimStepOutput{}, fmt.Errorf("engine: %w", err)
	}
	r.version = v
	r.clear()
	return tinker.OptimStepOutput{Metrics: map[string]float64{"grad_norm": norm}}, nil
}
