package weights

import (
	"runtime"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Version is one immutable set of weights to compute with.
type Version struct {
	ID      uint64 // of these weights and this adapter; part of the prefix cache's keys
	Weights uint64 // id of the version that loaded w; versions with equal weights share matrix products
	Base    *Base
	W       *model.Weights
	Adapter *model.Adapter // nil is none
	Cache   *cache.Cache   // the base's KV pages of w's shape
	full    bool           // all weights are its own, not the base's
	name    versionName
}

// newVersion gives a set of weights an id; weights is 0 if w belongs to no other version. The prefixes cached for a
// version are removed when it is garbage-collected.
func (m *Memory) newVersion(b *Base, w *model.Weights, weights uint64, a *model.Adapter) *Version {
	v := &Version{ID: m.versions.Add(1), Weights: weights, Base: b, W: w, Adapter: a, Cache: b.KV.Of(w.Config)}
	if weights == 0 {
		v.Weights = v.ID
	}
	runtime.AddCleanup(v, v.Cache.Forget, v.ID)
	return v
}

// NewFull is newVersion for full parameters.
func (m *Memory) NewFull(b *Base, w *model.Weights) *Version {
	v := m.newVersion(b, w, 0, nil)
	v.full = true
	return v
}

// bytes estimates the memory of one version's weights in bytes, without the base model's.
func (v *Version) bytes() int64 {
	switch {
	case v.Weights == v.ID && v.Adapter == nil:
		return v.W.Config.WeightBytes()
	case v.Adapter != nil:
		return v.Adapter.LoRA.PackedBytes(v.W.Config)
	}
	return 0
}

// OwnBytes is the memory of what a version has beyond its base model.
func (v *Version) OwnBytes() int64 {
	if v.Adapter == nil && !v.full {
		return 0
	}
	return v.bytes()
}

// Dtype names the dtype of the computation: bf16, f32 or, with frozen weights, theirs.
func (v *Version) Dtype() string {
	if frozen := v.W.Config.Frozen; frozen != "" {
		return frozen
	}
	if v.W.Config.BF16 {
		return "bf16"
	}
	return "f32"
}

// kvCaches holds the KV caches of a base model by the shape of their pages. A page has the dtype of the weights it is
// computed with. One base model can have weights of two dtypes: its own as they are stored, and the weights of a run
// that began with random weights, whose dtype config.json names.
type kvCaches struct {
	bytes int64 // budget of each

	mu      sync.Mutex
	byShape map[shapes]*cache.Cache
}

// shapes are those of a model's pages and memories.
type shapes struct {
	pages  nn.PageShape
	memory nn.MemoryShape
}

// Of returns the cache for weights of that shape.
func (k *kvCaches) Of(c model.Config) *cache.Cache {
	k.mu.Lock()
	defer k.mu.Unlock()
	shape := shapes{c.Pages(), c.Memory()}
	if k.byShape[shape] == nil {
		if k.byShape == nil {
			k.byShape = map[shapes]*cache.Cache{}
		}
		k.byShape[shape] = cache.New(shape.pages, shape.memory, k.bytes)
	}
	return k.byShape[shape]
}

// clear forgets all caches, whose pages are freed when no version uses them.
func (k *kvCaches) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byShape)
}
