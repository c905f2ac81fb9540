package engine

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"weak"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// SamplingClient implements tinker.Service.
func (e *Engine) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if (req.BaseModel == "") == (req.ModelPath == "") {
		return nil, tinker.Userf("engine: a sampling client needs a base_model or a model_path, not both: %q, %q",
			req.BaseModel, req.ModelPath)
	}
	if _, err := e.find(""); err != nil {
		return nil, err
	}
	if req.BaseModel != "" {
		b, err := e.base(req.BaseModel)
		if err != nil {
			return nil, err
		}
		v, held, err := e.use(b, tinker.IsPromised(ctx))
		if err != nil {
			return nil, err
		}
		return e.client(v, req.Owner, held), nil
	}
	v, held, err := e.open(req.ModelPath, tinker.IsPromised(ctx))
	if err != nil {
		return nil, err
	}
	weights, err := e.keep(v, req.Owner, "sampling from "+req.ModelPath)
	if err != nil {
		held.end()
		return nil, err
	}
	return e.client(v, req.Owner, &memoryUse{release: func() { weights.end(); held.end() }}), nil
}

// client makes a sampling client, which ends held when it is closed or collected.
func (e *Engine) client(v *version, owner string, held *memoryUse) *samplingClient {
	e.memory.usedBy(v.base, owner)
	c := &samplingClient{e: e, version: v, queue: &samplingQueue{owner: owner, share: newShare(owner)}, held: held}
	c.collected = runtime.AddCleanup(c, (*memoryUse).end, held)
	return c
}

// open returns the weights of a checkpoint: those in memory while a client uses them, else those on disk. The weights
// of its base model stay in memory until held ends.
func (e *Engine) open(path string, promised bool) (v *version, held *memoryUse, err error) {
	e.store.mu.RLock()
	defer e.store.mu.RUnlock()
	m, _, dir, err := e.store.read(path)
	if err != nil {
		return nil, nil, err
	}
	b, err := e.base(m.BaseModel)
	if err != nil {
		return nil, nil, fmt.Errorf("engine: checkpoint %s: %w", path, err)
	}
	r := &trainingRun{e: e, id: m.ModelID, base: b, lora: m.LoRA, promised: promised}
	root, err := r.root()
	if err != nil {
		return nil, nil, err
	}
	e.mu.Lock()
	v = e.saved[path].Value()
	e.mu.Unlock()
	if v != nil && (root == nil || root.weights == v.weights) {
		return v, r.held, nil
	}
	if v, err = r.openFrom(dir, m, path, root); err != nil {
		r.held.end()
		return nil, nil, err
	}
	e.mu.Lock()
	e.saved[path] = weak.Make(v)
	e.mu.Unlock()
	return v, r.held, nil
}

// openFrom reads the weights of a checkpoint folder. root is as for pack.
func (r *trainingRun) openFrom(dir string, m manifest, path string, root *version) (*version, error) {
	if err := r.fits(m, path); err != nil {
		return nil, err
	}
	v, err := r.packFrom(dir, m, root)
	if err != nil {
		return nil, tinker.Serverf("engine: checkpoint %s: %w", path, err)
	}
	return v, nil
}

// packFrom is openFrom for a checkpoint that fits.
func (r *trainingRun) packFrom(dir string, m manifest, root *version) (*version, error) {
	name := adapterFile
	if r.full() {
		name = weightsFile
	}
	if err := m.check(dir, name); err != nil {
		return nil, err
	}
	if r.full() {
		w, err := model.Load(dir, r.e.compute)
		if err != nil {
			return nil, err
		}
		return r.e.newFull(r.base, w), nil
	}
	params, err := readTensors(filepath.Join(dir, adapterFile))
	if err != nil {
		return nil, err
	}
	return r.pack(params, root)
}
