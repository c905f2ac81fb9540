package training

import (
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Open returns the weights of a checkpoint: those in memory while a client uses them, else those on disk. The weights
// of its base model stay in memory until held ends.
func (t *Trainer) Open(path string, promised bool) (v *weights.Version, held *weights.Hold, err error) {
	view := t.Store.View()
	defer view.Close()
	m, _, dir, err := view.Read(path)
	if err != nil {
		return nil, nil, err
	}
	b, err := t.Memory.Base(m.BaseModel)
	if err != nil {
		return nil, nil, fmt.Errorf("engine: checkpoint %s: %w", path, err)
	}
	s := weights.Shape{Base: b, LoRA: m.LoRA}
	root, held, err := t.Memory.Root(s, "", promised)
	if err != nil {
		return nil, nil, err
	}
	v = t.savedVersion(path)
	if v != nil && (root == nil || root.Weights == v.Weights) {
		return v, held, nil
	}
	if v, err = t.openFrom(s, dir, m, path, root); err != nil {
		held.End()
		return nil, nil, err
	}
	t.noteSaved(path, v)
	return v, held, nil
}

// openFrom reads the weights of a checkpoint folder. root is as for pack.
func (t *Trainer) openFrom(s weights.Shape, dir string, m checkpoint.Manifest, path string,
	root *weights.Version) (*weights.Version, error) {
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
func (t *Trainer) packFrom(s weights.Shape, dir string, m checkpoint.Manifest,
	root *weights.Version) (*weights.Version, error) {
	name := checkpoint.AdapterFile
	if s.Full() {
		name = checkpoint.WeightsFile
	}
	if err := m.Check(dir, name); err != nil {
		return nil, err
	}
	if s.Full() {
		w, err := model.Load(dir, t.Memory.Compute)
		if err != nil {
			return nil, err
		}
		return t.Memory.NewFull(s.Base, w), nil
	}
	params, err := checkpoint.ReadTensors(filepath.Join(dir, checkpoint.AdapterFile))
	if err != nil {
		return nil, err
	}
	return t.Memory.Pack(s, params, root)
}
