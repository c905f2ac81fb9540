package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Checkpoints lists what is saved, by path.
func (e *Engine) Checkpoints(context.Context) ([]tinker.Checkpoint, error) {
	paths, err := e.store.all()
	if err != nil {
		return nil, err
	}
	list := make([]tinker.Checkpoint, 0, len(paths))
	for _, p := range paths {
		c, err := e.Checkpoint(p.String())
		if errors.Is(err, tinker.ErrNotFound) {
			continue // deleted or expired meanwhile
		}
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// Checkpoint describes one checkpoint.
func (e *Engine) Checkpoint(path string) (tinker.Checkpoint, error) {
	m, p, dir, err := e.store.read(path)
	if err != nil {
		return tinker.Checkpoint{}, err
	}
	c := tinker.Checkpoint{Path: p, SeqID: m.SeqID, BaseModel: m.BaseModel, LoRA: m.LoRA, Optimizer: m.Optimizer}
	files, err := os.ReadDir(dir)
	if err != nil {
		return c, fmt.Errorf("engine: checkpoint %s: %w", path, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return c, fmt.Errorf("engine: checkpoint %s: %w", path, err)
		}
		c.Size += info.Size()
		if f.Name() == manifestFile {
			c.Time = info.ModTime()
		}
	}
	return c, nil
}
