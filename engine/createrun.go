package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// defaultAlpha is the LoRA alpha of a request that names none, the hosted service's value.
const defaultAlpha = 32

// create makes a run of a base model.
func (t *trainer) create(id string, d digest, req tinker.CreateModelRequest, promised bool) (*trainingRun, error) {
	r := t.newRun(id, req.Owner, d, promised)
	return r.finish(r.createFrom(req))
}

// finish makes the run accept requests, or releases its memory if making it failed.
func (r *trainingRun) finish(err error) (*trainingRun, error) {
	if err != nil {
		r.release()
		return nil, err
	}
	r.serve(0)
	return r, nil
}

func (r *trainingRun) createFrom(req tinker.CreateModelRequest) error {
	b, err := r.t.memory.base(req.BaseModel)
	if err != nil {
		return err
	}
	if b.adapter != "" {
		return tinker.Userf("engine: base model %q has an adapter of its own and is for sampling only; train the "+
			"model below it", b.name)
	}
	if r.base, r.lora = b, req.LoRA; r.lora.Alpha == 0 {
		r.lora.Alpha = defaultAlpha
	}
	if err := checkLoRA(r.lora, req.RandomInit); err != nil {
		return err
	}
	if err := checkOptimizer(req.OptimizerType, r.lora); err != nil {
		return err
	}
	if err := b.checkRank(r.lora); err != nil && !r.promised { // an older version accepted it
		return err
	}
	if err := r.t.memory.hold(r.shape, r.owner, r.id, r.promised); err != nil {
		return err
	}
	if r.lora.Seed == nil {
		seed := int64(r.t.draw() >> 1)
		r.lora.Seed = &seed
	}
	return r.begin(req.RandomInit, req.OptimizerType)
}

func checkLoRA(l tinker.LoRA, random bool) error {
	switch {
	case l.Rank < 0 || l.Rank > 1<<12:
		return tinker.Userf("engine: LoRA rank %d; it must be 1 to %d, or 0 to train all weights", l.Rank, 1<<12)
	case l.Rank > 0 && l.Modules == "" && !l.TrainAttn && !l.TrainMLP && !l.TrainUnembed:
		return tinker.Userf("engine: a LoRA that trains nothing; set train_attn, train_mlp, train_unembed or " +
			"target_modules")
	case l.Modules != "" && unknownModule(l.Modules) != "":
		return tinker.Userf("engine: LoRA target_modules %q: %q is not one of %s", l.Modules, unknownModule(l.Modules),
			strings.Join(model.ModuleNames(), ", "))
	case !(l.Alpha > 0) || math.IsInf(l.Alpha, 0):
		return tinker.Userf("engine: LoRA alpha %v; it must be a positive number, or 0 for %d", l.Alpha, defaultAlpha)
	case random && l.Rank > 0:
		return tinker.Userf("engine: random_init with LoRA rank %d; random weights are trained whole, with rank 0",
			l.Rank)
	}
	return nil
}

// unknownModule returns the first of the names that is no module, "" if all are.
func unknownModule(names string) string {
	for _, n := range strings.Split(names, ",") {
		if !slices.Contains(model.ModuleNames(), n) {
			return n
		}
	}
	return ""
}

// begin makes the state of a new run.
func (r *trainingRun) begin(random bool, kind string) error {
	seed := uint64(*r.lora.Seed)
	if random {
		r.held = r.t.memory.enter(r.base)
		r.bf16 = r.base.config.BF16
		return r.start(model.RandomTensors(r.base.config, seed), kind, nil)
	}
	root, held, err := r.t.memory.use(r.base, r.promised)
	if err != nil {
		return err
	}
	r.held = held
	r.t.memory.usedBy(r.base, r.owner)
	if r.full() {
		r.bf16 = root.w.Config.BF16
		return r.start(root.w.Tensors(), kind, nil)
	}
	return r.start(root.w.NewLoRA(r.model(), seed), kind, root)
}

func (r *trainingRun) start(params []model.Tensor, kind string, root *version) error {
	sortByName(params)
	return r.install(params, newOptimizer(kind, params), root)
}

// createFromState makes a run of a checkpoint.
func (t *trainer) createFromState(id string, d digest, req tinker.CreateFromStateRequest,
	promised bool) (*trainingRun, error) {
	r := t.newRun(id, req.Owner, d, promised)
	return r.finish(r.createFromState(req))
}

func (r *trainingRun) createFromState(req tinker.CreateFromStateRequest) error {
	defer r.t.store.reading()()
	m, p, dir, err := r.t.store.read(req.Path)
	if err != nil {
		return err
	}
	if p.Kind != tinker.KindState {
		return tinker.Userf("engine: %s holds weights for sampling only; create from a state, tinker://…/%s/…",
			req.Path, tinker.KindState)
	}
	if r.base, err = r.t.memory.base(m.BaseModel); err != nil {
		return fmt.Errorf("engine: checkpoint %s: %w", req.Path, err)
	}
	r.lora, r.bf16 = m.LoRA, m.DType == "bf16"
	if err := r.t.memory.hold(r.shape, r.owner, r.id, r.promised); err != nil {
		return err
	}
	root, err := r.root()
	if err != nil {
		return err
	}
	if err := fits(r.id, r.shape, m, req.Path); err != nil {
		return err
	}
	kind, err := optimizerOf(m, req)
	if err != nil {
		return err
	}
	if err := r.installFrom(dir, m, req.Optimizer, kind, root); err != nil {
		return tinker.Serverf("engine: checkpoint %s: %w", req.Path, err)
	}
	return nil
}

// root returns the base's own version, see memory.root; the run uses its base from now on.
func (r *trainingRun) root() (root *version, err error) {
	root, r.held, err = r.t.memory.root(r.shape, r.owner, r.promised)
	return root, err
}
