package training

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/queue"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// defaultAlpha is the LoRA alpha of a request that names none, the hosted service's value.
const defaultAlpha = 32

// Create makes a run of a base model.
func (t *Trainer) Create(id string, d queue.Digest, req tinker.CreateModelRequest, promised bool) (*Run, error) {
	r := t.newRun(id, req.Owner, d, promised)
	return r.finish(r.createFrom(req))
}

// finish makes the run accept requests, or releases its memory if making it failed.
func (r *Run) finish(err error) (*Run, error) {
	if err != nil {
		r.Release()
		return nil, err
	}
	r.serve(0)
	return r, nil
}

func (r *Run) createFrom(req tinker.CreateModelRequest) error {
	b, err := r.t.Memory.Base(req.BaseModel)
	if err != nil {
		return err
	}
	if b.Adapter != "" {
		return tinker.Userf("engine: base model %q has an adapter of its own and is for sampling only; train the "+
			"model below it", b.Name)
	}
	if r.Base, r.LoRA = b, req.LoRA; r.LoRA.Alpha == 0 {
		r.LoRA.Alpha = defaultAlpha
	}
	if err := checkLoRA(r.LoRA, req.RandomInit); err != nil {
		return err
	}
	if err := r.Model().CheckOn(b.Config); err != nil && !r.promised { // an older version accepted it
		return tinker.Userf("engine: %w", err)
	}
	if err := checkOptimizer(req.OptimizerType, r.LoRA); err != nil {
		return err
	}
	if b.Config.Frozen != "" && r.Full() {
		return tinker.Userf("engine: the weights of base model %q are frozen in %s (base_dtype), and rank 0 trains "+
			"all weights; train a LoRA, or use base_dtype bf16", b.Name, b.Config.Frozen)
	}
	if b.Config.Arch.Sinks && r.Full() {
		return tinker.Userf("engine: rank 0 trains all weights, which is not supported for %s; train a LoRA",
			b.Config.Arch.Name)
	}
	if err := b.CheckRank(r.LoRA); err != nil && !r.promised { // an older version accepted it
		return err
	}
	if err := r.t.Memory.Hold(r.Shape, r.owner, r.id, r.promised); err != nil {
		return err
	}
	if r.LoRA.Seed == nil {
		seed := int64(r.t.Draw() >> 1)
		r.LoRA.Seed = &seed
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
func (r *Run) begin(random bool, kind string) error {
	seed := uint64(*r.LoRA.Seed)
	if random {
		r.held = r.t.Memory.Enter(r.Base)
		r.BF16 = r.Base.Config.BF16
		return r.start(model.RandomTensors(r.Base.Config, seed), kind, nil)
	}
	root, held, err := r.t.Memory.Use(r.Base, r.promised)
	if err != nil {
		return err
	}
	r.held = held
	r.t.Memory.UsedBy(r.Base, r.owner)
	if r.Full() {
		r.BF16 = root.W.Config.BF16
		return r.start(root.W.Tensors(), kind, nil)
	}
	return r.start(root.W.NewLoRA(r.Model(), seed), kind, root)
}

func (r *Run) start(params []model.Tensor, kind string, root *weights.Version) error {
	checkpoint.SortByName(params)
	return r.install(params, newOptimizer(kind, params), root)
}

// CreateFromState makes a run of a checkpoint.
func (t *Trainer) CreateFromState(id string, d queue.Digest, req tinker.CreateFromStateRequest,
	promised bool) (*Run, error) {
	r := t.newRun(id, req.Owner, d, promised)
	return r.finish(r.createFromState(req))
}

func (r *Run) createFromState(req tinker.CreateFromStateRequest) error {
	view := r.t.Store.View()
	defer view.Close()
	m, p, dir, err := view.Read(req.Path)
	if err != nil {
		return err
	}
	if p.Kind != tinker.KindState {
		return tinker.Userf("engine: %s holds weights for sampling only; create from a state, tinker://…/%s/…",
			req.Path, tinker.KindState)
	}
	if r.Base, err = r.t.Memory.Base(m.BaseModel); err != nil {
		return fmt.Errorf("engine: checkpoint %s: %w", req.Path, err)
	}
	r.LoRA, r.BF16 = m.LoRA, m.DType != "f32"
	if err := r.t.Memory.Hold(r.Shape, r.owner, r.id, r.promised); err != nil {
		return err
	}
	root, err := r.root()
	if err != nil {
		return err
	}
	if err := fits(r.id, r.Shape, m, req.Path); err != nil {
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
func (r *Run) root() (root *weights.Version, err error) {
	root, r.held, err = r.t.Memory.Root(r.Shape, r.owner, r.promised)
	return root, err
}
