package engine

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// shape says which parameters of a base model are trained, and makes versions of them.
type shape struct {
	base *base
	lora tinker.LoRA // with everything filled in
	bf16 bool        // full parameters are computed in bf16
}

// full reports whether all weights are trained.
func (s shape) full() bool { return s.lora.Rank == 0 }

// model is the LoRA in package model's terms.
func (s shape) model() model.LoRA { return modelLoRA(s.lora) }

// pack makes a version of params. root is any version of the base's weights; full parameters need none.
func (m *memory) pack(s shape, params []model.Tensor, root *version) (*version, error) {
	reserved, err := s.reserve()
	if err != nil {
		return nil, err
	}
	return m.packIn(s, reserved, params, root)
}

// reserve reserves the memory of a version of full parameters; an adapter has none of this kind.
func (s shape) reserve() (*kernel.Memory, error) {
	if !s.full() {
		return nil, nil
	}
	return s.config().Reserve()
}

// config is that of a version of full parameters.
func (s shape) config() model.Config {
	c := s.base.config
	c.BF16 = s.bf16
	return c
}

// packIn is pack with what reserve returned.
func (m *memory) packIn(s shape, reserved *kernel.Memory, params []model.Tensor, root *version) (*version, error) {
	if !s.full() {
		a, err := root.w.NewAdapter(s.model(), params, m.compute.K)
		if err != nil {
			return nil, err
		}
		return m.newVersion(s.base, root.w, root.weights, a), nil
	}
	w, err := model.NewWeightsIn(reserved, s.config(), params, m.compute)
	if err != nil {
		return nil, err
	}
	return m.newFull(s.base, w), nil
}

// root returns the base's own version, which pack needs for an adapter; nil for full parameters. The base is used until
// held ends.
func (m *memory) root(s shape, owner string, promised bool) (root *version, held *memoryUse, err error) {
	if s.full() {
		return nil, m.enter(s.base), nil
	}
	root, held, err = m.use(s.base, promised)
	if err == nil {
		m.usedBy(s.base, owner)
	}
	return root, held, err
}

// modelLoRA converts a LoRA to package model's type.
func modelLoRA(l tinker.LoRA) model.LoRA {
	m := model.LoRA{Rank: l.Rank, Alpha: l.Alpha, Attn: l.TrainAttn, MLP: l.TrainMLP, Unembed: l.TrainUnembed}
	if l.Modules != "" {
		m.Modules = strings.Split(l.Modules, ",")
	}
	return m
}

// seamLoRA converts a LoRA to package tinker's type.
func seamLoRA(l model.LoRA) tinker.LoRA {
	return tinker.LoRA{Rank: l.Rank, Alpha: l.Alpha, Seed: new(int64), TrainAttn: l.Attn, TrainMLP: l.MLP,
		TrainUnembed: l.Unembed,
		Modules:      strings.Join(l.Modules, ",")}
}
