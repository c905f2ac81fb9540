package engine

import (
	"context"
	"fmt"
	"path/filepath"
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
		v, err := e.load(b)
		if err != nil {
			return nil, err
		}
		return e.client(v, req.Owner), nil
	}
	v, err := e.open(req.ModelPath)
	if err != nil {
		return nil, err
	}
	c := e.client(v, req.Owner)
	if err := e.keep(c, "sampling from "+req.ModelPath); err != nil {
		return nil, err
	}
	return c, nil
}

func (e *Engine) client(v *version, owner string) *samplingClient {
	return &samplingClient{e: e, version: v, queue: &samplingQueue{owner: owner, share: newShare(owner)}}
}

// open returns the weights of a checkpoint: those in memory while a client uses them, else those on disk.
func (e *Engine) open(path string) (*version, error) {
	e.store.mu.RLock()
	defer e.store.mu.RUnlock()
	m, _, dir, err := e.store.read(path)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	v := e.saved[path].Value()
	e.mu.Unlock()
	if v != nil {
		return v, nil
	}
	b, err := e.base(m.BaseModel)
	if err != nil {
		return nil, fmt.Errorf("engine: checkpoint %s: %w", path, err)
	}
	r := &trainingRun{e: e, id: m.ModelID, base: b, lora: m.LoRA}
	if err := r.fits(m, path); err != nil {
		return nil, err
	}
	if v, err = r.packFrom(dir, m); err != nil {
		return nil, tinker.Serverf("engine: checkpoint %s: %w", path, err)
	}
	e.mu.Lock()
	e.saved[path] = weak.Make(v)
	e.mu.Unlock()
	return v, nil
}

// packFrom reads the weights of a checkpoint folder.
func (r *trainingRun) packFrom(dir string, m manifest) (*version, error) {
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
		return r.e.newVersion(r.base, w, 0, nil), nil
	}
	root, err := r.e.load(r.base)
	if err != nil {
		return nil, err
	}
	params, err := readTensors(filepath.Join(dir, adapterFile))
	if err != nil {
		return nil, err
	}
	return r.pack(params, root)
}
