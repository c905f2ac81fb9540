package engine

import (
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// open returns the weights of a checkpoint: those in memory while a client uses them, else those on disk. The weights
// of its base model stay in memory until held ends.
func (t *trainer) open(path string, promised bool) (v *version, held *memoryUse, err error) {
	defer t.store.reading()()
	m, _, dir, err := t.store.read(path)
	if err != nil {
		return nil, nil, err
	}
	b, err := t.memory.base(m.BaseModel)
	if err != nil {
		return nil, nil, fmt.Errorf("engine: checkpoint %s: %w", path, err)
	}
	s := shape{base: b, lora: m.LoRA}
	root, held, err := t.memory.root(s, "", promised)
	if err != nil {
		return nil, nil, err
	}
	v = t.savedVersion(path)
	if v != nil && (root == nil || root.weights == v.weights) {
		return v, held, nil
	}
	if v, err = t.openFrom(s, dir, m, path, root); err != nil {
		held.end()
		return nil, nil, err
	}
	t.noteSaved(path, v)
	return v, held, nil
}

// openFrom reads the weights of a checkpoint folder. root is as for pack.
func (t *trainer) openFrom(s shape, dir string, m manifest, path string, root *version) (*version, error) {
	if err := fits(m.ModelID, s, m, path); err != nil {
		return nil, err
	}
	v, err := t.packFrom(s, dir, m, root)
	if err != nil {
		return nil, tinker.Serverf("engine: checkpoint %s: %w", path, err)
	}
	return v, nil
}

// packFrom is openFrom for a checkpoint that fits.
func (t *trainer) packFrom(s shape, dir string, m manifest, root *version) (*version, error) {
	name := adapterFile
	if s.full() {
		name = weightsFile
	}
	if err := m.check(dir, name); err != nil {
		return nil, err
	}
	if s.full() {
		w, err := model.Load(dir, t.memory.compute)
		if err != nil {
			return nil, err
		}
		return t.memory.newFull(s.base, w), nil
	}
	params, err := readTensors(filepath.Join(dir, adapterFile))
	if err != nil {
		return nil, err
	}
	return t.memory.pack(s, params, root)
}
