package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Checkpoints lists the checkpoints by path. A damaged one is left out and logged.
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
			e.noteDamage(p.String(), err)
			continue
		}
		list = append(list, c)
	}
	return list, nil
}

// noteDamage logs that a checkpoint cannot be read, once per reason.
func (e *Engine) noteDamage(path string, why error) {
	e.mu.Lock()
	known := e.damaged[path] == why.Error()
	e.damaged[path] = why.Error()
	e.mu.Unlock()
	if !known {
		e.opts.Log.Error("a checkpoint is damaged and is left out of lists; restore it from a backup or delete it",
			"path", path, "error", why)
	}
}

// Checkpoint describes one checkpoint.
func (e *Engine) Checkpoint(path string) (tinker.Checkpoint, error) {
	m, p, dir, err := e.store.read(path)
	if err != nil {
		return tinker.Checkpoint{}, err
	}
	c := tinker.Checkpoint{Path: p, SeqID: m.SeqID, BaseModel: m.BaseModel, LoRA: m.LoRA, Optimizer: m.Optimizer,
		OptimizerType: m.OptimizerType}
	files, err := disk.Files(dir)
	if err != nil {
		return c, unlisted(path, err)
	}
	for _, name := range files {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return c, unlisted(path, err)
		}
		c.Size += info.Size()
		if name == manifestFile {
			c.Time = info.ModTime()
		}
	}
	return c, nil
}

// unlisted is the error of a folder that could not be listed. It may have been deleted since its manifest was read.
func unlisted(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return tinker.Userf("engine: checkpoint %s: %w", path, tinker.ErrNotFound)
	}
	return fmt.Errorf("engine: checkpoint %s: %w", path, err)
}

// VerifyCheckpoints reads every checkpoint below dir, the folder of an engine that is not running. It returns their
// number and the damage.
func VerifyCheckpoints(dir string) (found int, damaged, err error) {
	s := store{dir: dir, now: func() time.Time { return time.Time{} }}
	paths, err := s.all()
	if err != nil {
		return 0, nil, err
	}
	for _, p := range paths {
		m, _, folder, err := s.read(p.String())
		for name := range m.Files {
			err = errors.Join(err, m.check(folder, name))
		}
		if err == nil {
			err = verifyTensors(folder)
		}
		damaged = errors.Join(damaged, err)
	}
	return len(paths), damaged, nil
}

func verifyTensors(folder string) error {
	files, err := disk.Glob(folder, "*.safetensors")
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
