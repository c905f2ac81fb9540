package training

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// State changes with every request.
type State struct {
	Params   []model.Tensor // the trainable ones, f32
	opt      optimizer
	Grads    *model.Grads     // same names and shapes as params
	Gathered bool             // grads is not zero
	part     *model.Grads     // of the part being computed, if grads has others; nil until then
	Version  *weights.Version // params, packed
}

// install sets the state to params, which it keeps, and opt, without a gradient. params are sorted by name: sums over
// tensors must run in the same order wherever the tensors came from.
func (r *Run) install(params []model.Tensor, opt optimizer, root *weights.Version) error {
	v, err := r.t.Memory.Pack(r.Shape, params, root)
	if err != nil {
		return err
	}
	r.State = State{Params: params, opt: opt, Grads: model.NewGrads(params), Version: v}
	return nil
}

// step applies the gathered gradient and clears it.
func (r *Run) step(req tinker.OptimStepRequest) (tinker.OptimStepOutput, error) {
	if err := r.fitsOptimizer(req); err != nil {
		return tinker.OptimStepOutput{}, err
	}
	memory, err := r.Reserve() // first: a step that fails must change nothing
	if err != nil {
		return tinker.OptimStepOutput{}, fmt.Errorf("engine: %w", err)
	}
	var norm float64
	closed := r.t.Loop.Alone(r.member, func() { norm, err = r.update(req) })
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
	// packing needs no turn: it runs beside other computations
	v, err := r.t.Memory.PackIn(r.Shape, memory, r.Params, r.Version)
	if err != nil {
		return tinker.OptimStepOutput{}, fmt.Errorf("engine: %w", err)
	}
	r.Version = v
	r.clear()
	return tinker.OptimStepOutput{Metrics: map[string]float64{"grad_norm": norm}}, nil
}
