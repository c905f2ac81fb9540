package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

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

// VerifyCheckpoints reads every checkpoint below dir, the folder of an engine that does not run, and returns how many there
// are and what is damaged.
func VerifyCheckpoints(dir string) (found int, damaged, err error) {
	s := store{dir: dir, now: func() time.Time { return time.Time{} }}
	paths, err := s.all()
	if err != nil {
		return 0, nil, err
	}
	for _, p := range paths {
		_, _, folder, err := s.read(p.String())
		if err == nil {
			err = verifyTensors(folder)
		}
		damaged = errors.Join(damaged, err)
	}
	return len(paths), damaged, nil
}

func verifyTensors(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.safetensors"))
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	for _, path := range files {
		if _, err := readTensors(path); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return nil
}
