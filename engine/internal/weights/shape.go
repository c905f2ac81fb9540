package weights

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Shape says which parameters of a base model are trained, and makes versions of them.
type Shape struct {
	Base *Base
	LoRA tinker.LoRA // with everything filled in
	BF16 bool        // full parameters are computed in bf16
}

// Full reports whether all weights are trained.
func (s Shape) Full() bool { return s.LoRA.Rank == 0 }

// Model is the LoRA in package model's terms.
func (s Shape) Model() model.LoRA { return modelLoRA(s.LoRA) }

// Pack makes a version of params. root is any version of the base's weights; full parameters need none.
func (m *Memory) Pack(s Shape, params []model.Tensor, root *Version) (*Version, error) {
	reserved, err := s.Reserve()
	if err != nil {
		return nil, err
	}
	return m.PackIn(s, reserved, params, root)
}

// Reserve reserves the memory of a version of full parameters; an adapter has none of this kind.
func (s Shape) Reserve() (*kernel.Memory, error) {
	if !s.Full() {
		return nil, nil
	}
	return s.config().Reserve()
}

// config is the configuration of a version of full parameters.
func (s Shape) config() model.Config {
	c := s.Base.Config
	c.BF16, c.Frozen = s.BF16, ""
	return c
}

// PackIn is pack with what reserve returned.
func (m *Memory) PackIn(s Shape, reserved *kernel.Memory, params []model.Tensor, root *Version) (*Version, error) {
	if !s.Full() {
		a, err := root.W.NewAdapter(s.Model(), params, m.Compute.K)
		if err != nil {
			return nil, err
		}
		return m.newVersion(s.Base, root.W, root.Weights, a), nil
	}
	w, err := model.NewWeightsIn(reserved, s.config(), params, m.Compute)
	if err != nil {
		return nil, err
	}
	return m.NewFull(s.Base, w), nil
}

// Root returns the base's own version, which pack needs for an adapter; nil for full parameters. The base is used until
// held ends.
func (m *Memory) Root(s Shape, owner string, promised bool) (root *Version, held *Hold, err error) {
	if s.Full() {
		return nil, m.Enter(s.Base), nil
	}
	root, held, err = m.Use(s.Base, promised)
	if err == nil {
		m.UsedBy(s.Base, owner)
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

// SeamLoRA converts a LoRA to package tinker's type.
func SeamLoRA(l model.LoRA) tinker.LoRA {
	return tinker.LoRA{Rank: l.Rank, Alpha: l.Alpha, Seed: new(int64), TrainAttn: l.Attn, TrainMLP: l.MLP,
		TrainUnembed: l.Unembed,
		Modules:      strings.Join(l.Modules, ",")}
}
