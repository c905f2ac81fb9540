package engine

import (
	"runtime"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// version is one immutable set of weights to compute with.
type version struct {
	id      uint64 // of these weights and this adapter; part of the prefix cache's keys
	weights uint64 // id of the version that loaded w; versions with equal weights share matrix products
	base    *base
	w       *model.Weights
	adapter *model.Adapter // nil is none
	cache   *cache.Cache   // the base's KV pages of w's shape
	full    bool           // all weights are its own, not the base's
	name    versionName
}

// newVersion gives a set of weights an id; weights is 0 if w belongs to no other version. The prefixes cached for a
// version are removed when it is garbage-collected.
func (m *memory) newVersion(b *base, w *model.Weights, weights uint64, a *model.Adapter) *version {
	v := &version{id: m.versions.Add(1), weights: weights, base: b, w: w, adapter: a, cache: b.kv.of(w.Config)}
	if weights == 0 {
		v.weights = v.id
	}
	runtime.AddCleanup(v, v.cache.Forget, v.id)
	return v
}

// newFull is newVersion for full parameters.
func (m *memory) newFull(b *base, w *model.Weights) *version {
	v := m.newVersion(b, w, 0, nil)
	v.full = true
	return v
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

// ownBytes is the memory of what a version has beyond its base model.
func (v *version) ownBytes() int64 {
	if v.adapter == nil && !v.full {
		return 0
	}
	return v.bytes()
}

// dtype names the dtype of the computation: bf16 or f32.
func (v *version) dtype() string {
	if v.w.Config.BF16 {
		return "bf16"
	}
	return "f32"
}

// kvCaches holds the KV caches of a base model by the shape of their pages. A page has the dtype of the weights it is
// computed with. One base model can have weights of two dtypes: its own as they are stored, and those of a run that
// began with random weights, whose dtype config.json names.
type kvCaches struct {
	bytes int64 // budget of each

	mu      sync.Mutex
	byShape map[nn.PageShape]*cache.Cache
}

// of returns the cache for weights of that shape.
func (k *kvCaches) of(c model.Config) *cache.Cache {
	k.mu.Lock()
	defer k.mu.Unlock()
	shape := c.Pages()
	if k.byShape[shape] == nil {
		if k.byShape == nil {
			k.byShape = map[nn.PageShape]*cache.Cache{}
		}
		k.byShape[shape] = cache.New(shape, k.bytes)
	}
	return k.byShape[shape]
}

// clear forgets all caches, whose pages are freed when no version uses them.
func (k *kvCaches) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byShape)
}
