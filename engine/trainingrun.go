package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trainingRun is one training run: a tinker.TrainingClient. The slices of a request must not be changed before its
// result is there.
type trainingRun struct {
	e             *Engine
	id            string
	created       digest // of the request that made it
	owner         string
	base          *base
	lora          tinker.LoRA // with everything filled in
	optimizer     string      // as CreateModelRequest.OptimizerType
	bf16          bool        // full parameters are computed in bf16
	q             queue
	trainingState            // for the queue's goroutine, and for the compute loop while that goroutine waits for it
	share         *fairShare // of training
	promised      bool       // it was accepted before
	held          *memoryUse // of its base model's weights
	coming        bool       // guarded by the compute loop: a job is likely to follow at once
	present       bool       // likewise: the share is active
}

// trainingState is what requests change.
type trainingState struct {
	params   []model.Tensor // the trainable ones, f32
	opt      optimizer
	grads    *model.Grads // same names and shapes as params
	gathered bool         // grads is not zero
	part     *model.Grads // of the part being computed, if grads has others; nil until then
	version  *version     // params, packed
}

func (r *trainingRun) full() bool { return r.lora.Rank == 0 }

func modelLoRA(l tinker.LoRA) model.LoRA {
	m := model.LoRA{Rank: l.Rank, Alpha: l.Alpha, Attn: l.TrainAttn, MLP: l.TrainMLP, Unembed: l.TrainUnembed}
	if l.Modules != "" {
		m.Modules = strings.Split(l.Modules, ",")
	}
	return m
}

// install sets the state to params, which it keeps, and opt, without a gradient. params are sorted by name: sums over
// tensors must run in the same order wherever the tensors came from.
func (r *trainingRun) install(params []model.Tensor, opt optimizer, root *version) error {
	v, err := r.pack(params, root)
	if err != nil {
		return err
	}
	r.trainingState = trainingState{params: params, opt: opt, grads: model.NewGrads(params), version: v}
	return nil
}

// pack makes a version of params. root is any version of the base's weights; full parameters need none.
func (r *trainingRun) pack(params []model.Tensor, root *version) (*version, error) {
	memory, err := r.reserve()
	if err != nil {
		return nil, err
	}
	return r.packIn(memory, params, root)
}

// reserve reserves the memory of a version of full parameters; an adapter has none of this kind.
func (r *trainingRun) reserve() (*kernel.Memory, error) {
	if !r.full() {
		return nil, nil
	}
	return r.config().Reserve()
}

// config is that of a version of full parameters.
func (r *trainingRun) config() model.Config {
	c := r.base.config
	c.BF16 = r.bf16
	return c
}

// packIn is pack with what reserve returned.
func (r *trainingRun) packIn(memory *kernel.Memory, params []model.Tensor, root *version) (*version, error) {
	if !r.full() {
		a, err := root.w.NewAdapter(modelLoRA(r.lora), params, r.e.compute.K)
		if err != nil {
			return nil, err
		}
		return r.e.newVersion(r.base, root.w, root.weights, a), nil
	}
	w, err := model.NewWeightsIn(memory, r.config(), params, r.e.compute)
	if err != nil {
		return nil, err
	}
	return r.e.newFull(r.base, w), nil
}

// root returns the base's own version, which pack needs for an adapter; nil for full parameters. The run uses its base
// from now on.
func (r *trainingRun) root() (root *version, err error) {
	if r.full() {
		r.held = r.e.memory.enter(r.base)
		return nil, nil
	}
	root, r.held, err = r.e.use(r.base, r.promised)
	if err == nil {
		r.e.memory.usedBy(r.base, r.owner)
	}
	return root, err
}

// rest is called when no request follows at once.
func (r *trainingRun) rest() {
	r.e.memory.touch(r.base)
	r.e.training.idle(r)
}

// Info implements tinker.TrainingClient.
func (r *trainingRun) Info(context.Context) (tinker.ModelInfo, error) {
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	if r.q.closed {
		return tinker.ModelInfo{}, errClosed()
	}
	if r.q.ends() {
		return tinker.ModelInfo{}, errUnloaded(r.id)
	}
	return tinker.ModelInfo{ModelID: r.id, BaseModel: r.base.name, LoRA: r.lora, OptimizerType: r.optimizer,
		NextSeqID: r.q.requests.Next()}, nil
}

// Forward implements tinker.TrainingClient.
func (r *trainingRun) Forward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return submit(ctx, &r.q, req.SeqID, newHasher("forward").forward(req), tokensOf(req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, false) }, sizeOfForward)
}

// ForwardBackward implements tinker.TrainingClient.
func (r *trainingRun) ForwardBackward(ctx context.Context,
	req tinker.ForwardRequest) (*tinker.Future[tinker.ForwardOutput], error) {
	return submit(ctx, &r.q, req.SeqID, newHasher("forward_backward").forward(req), tokensOf(req),
		func() (tinker.ForwardOutput, error) { return r.forward(req, true) }, sizeOfForward)
}

func tokensOf(req tinker.ForwardRequest) (n int) {
	for _, d := range req.Data {
		n += d.ModelInput.Len()
	}
	return n
}

func sizeOfForward(o tinker.ForwardOutput) int64 {
	n := int64(256)
	for _, rec := range o.LossFnOutputs {
		for _, t := range rec {
			n += 128 + int64(4*len(t.Float)+8*len(t.Int))
		}
	}
	return n
}

func sizeOfSmall[T any](T) int64 { return 512 }

// OptimStep implements tinker.TrainingClient.
func (r *trainingRun) OptimStep(ctx context.Context,
	req tinker.OptimStepRequest) (*tinker.Future[tinker.OptimStepOutput], error) {
	return submit(ctx, &r.q, req.SeqID, newHasher("optim_step").step(req), 0,
		func() (tinker.OptimStepOutput, error) { return r.step(req) }, sizeOfSmall)
}

// SaveState implements tinker.TrainingClient.
func (r *trainingRun) SaveState(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return submit(ctx, &r.q, req.SeqID, newHasher("save_state").save(req), 0,
		func() (tinker.SaveOutput, error) { r.e.training.idle(r); return r.save(req, tinker.KindState) }, sizeOfSmall)
}

// SaveWeightsForSampler implements tinker.TrainingClient.
func (r *trainingRun) SaveWeightsForSampler(ctx context.Context,
	req tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error) {
	return submit(ctx, &r.q, req.SeqID, newHasher("save_weights_for_sampler").save(req), 0,
		func() (tinker.SaveOutput, error) { r.e.training.idle(r); return r.save(req, tinker.KindSampler) }, sizeOfSmall)
}

// LoadState implements tinker.TrainingClient.
func (r *trainingRun) LoadState(ctx context.Context,
	req tinker.LoadRequest) (*tinker.Future[tinker.LoadOutput], error) {
	return submit(ctx, &r.q, req.SeqID, newHasher("load_state").load(req.Path, req.Optimizer), 0,
		func() (tinker.LoadOutput, error) { r.e.training.idle(r); return r.load(req) }, sizeOfSmall)
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
	closed := r.e.training.do(&job{r: r, alone: func() {
		norm, err = r.update(req)
	}})
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
	v, err := r.packIn(memory, r.params, r.version) // runs beside other computations: packing needs no turn
	if err != nil {
		return tinker.OptimStepOutput{}, fmt.Errorf("engine: %w", err)
	}
	r.version = v
	r.clear()
	return tinker.OptimStepOutput{Metrics: map[string]float64{"grad_norm": norm}}, nil
}

func slicesOf(t []model.Tensor) [][]float32 {
	s := make([][]float32, len(t))
	for i := range t {
		s[i] = t[i].Data
	}
	return s
}
