package engine

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// runOverhead is the memory of a training run besides its tensors: maps, queues, names.
const runOverhead = 128 << 10

// runBytes estimates the memory of a run in bytes: its parameters, a gradient, the copy of it that a failed request
// restores, a part of it, and two moments, all f32; and two packed versions of its weights, since a step makes the new
// one while the old one is in use.
func (b *base) runBytes(l tinker.LoRA) int64 {
	c := b.config
	if l.Rank == 0 {
		n := 7 * 4 * c.Parameters()
		if c.Tied {
			n += 6 * 4 * int64(c.Vocab) * int64(c.Dim) // two more accumulators, their copies and a part's
		}
		return runOverhead + n + 2*c.WeightBytes()
	}
	m := modelLoRA(l)
	return runOverhead + 6*4*m.Parameters(c) + 2*m.PackedBytes(c)
}

// bytes estimates the memory of one version's weights in bytes, without the base model's.
func (v *version) bytes() int64 {
	switch {
	case v.weights == v.id && v.adapter == nil:
		return v.w.Config.WeightBytes()
	case v.adapter != nil:
		return v.adapter.LoRA.PackedBytes(v.w.Config)
	}
	return 0
}

var _ tinker.Sized = (*Engine)(nil)

// RoomForModel implements tinker.Sized.
func (e *Engine) RoomForModel(req tinker.CreateModelRequest) error {
	b, err := e.base(req.BaseModel)
	if err != nil {
		return err
	}
	if err := b.checkRank(req.LoRA); err != nil {
		return err
	}
	return e.room(req.Owner, req.LoRA, b)
}

// room returns an error if there is no memory for a training run and the weights that it needs.
func (e *Engine) room(owner string, l tinker.LoRA, b *base) error {
	if err := e.memory.room(owner, describeRun(l, b), b.runBytes(l)); err != nil || l.Rank == 0 {
		return err
	}
	n, err := b.weightBytes()
	if err != nil {
		return nil // making the run says why
	}
	return e.memory.roomForBase(b, n)
}

// RoomForState implements tinker.Sized.
func (e *Engine) RoomForState(req tinker.CreateFromStateRequest) error {
	m, _, _, err := e.store.read(req.Path)
	if err != nil {
		return err
	}
	b, err := e.base(m.BaseModel)
	if err != nil {
		return fmt.Errorf("engine: checkpoint %s: %w", req.Path, err)
	}
	return e.room(req.Owner, m.LoRA, b)
}

func describeRun(l tinker.LoRA, b *base) string {
	return fmt.Sprintf("a training run of rank %d on base model %q", l.Rank, b.name)
}

// looseRank is accepted for any base model, so that the settings of a large model also work on a small stand-in.
const looseRank = 256

// checkRank refuses a rank above the shorter side of the trained matrices: the product of A and B cannot have a higher
// rank than that.
func (b *base) checkRank(l tinker.LoRA) error {
	if l.Rank == 0 {
		return nil
	}
	if most := max(modelLoRA(l).MaxRank(b.config), looseRank); l.Rank > most {
		return tinker.Userf("engine: LoRA rank %d is more than base model %q can use: take a rank of 1 to %d", l.Rank,
			b.name, most)
	}
	return nil
}

// hold accounts for the memory of a run that is being made. A promised run is always accepted.
func (r *trainingRun) hold(promised bool) error {
	n := r.base.runBytes(r.lora)
	if promised {
		r.e.memory.take(r.owner, r.id, n)
		return nil
	}
	return r.e.memory.reserve(r.owner, r.id, describeRun(r.lora, r.base), n)
}

// keep accounts for the weights of a checkpoint's sampling client, once for all clients of one version.
func (e *Engine) keep(v *version, owner, what string) (*memoryUse, error) {
	name := fmt.Sprintf("version %d", v.id)
	if err := e.memory.share(owner, name, what, v.bytes()); err != nil {
		return nil, err
	}
	return &memoryUse{release: func() { e.memory.release(name) }}, nil
}

// Memory returns the estimated bytes of all training runs and samplers, and their limit; 0 is no limit.
func (e *Engine) Memory() (used, total int64) {
	used, _ = e.memory.now("")
	return used, e.memory.total
}

// mib writes bytes for a reader.
func mib(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
