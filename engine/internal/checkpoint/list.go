package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// List describes the checkpoints by path. A damaged one is left out and logged, once per reason.
func (s *Store) List(log *slog.Logger) ([]tinker.Checkpoint, error) {
	v := s.View()
	defer v.Close()
	paths, err := v.all()
	if err != nil {
		return nil, err
	}
	list := make([]tinker.Checkpoint, 0, len(paths))
	for _, p := range paths {
		c, err := v.describe(p.String())
		if errors.Is(err, tinker.ErrNotFound) {
			continue // expired, or deleted by another program
		}
		if err != nil {
			if s.damageIsNew(p.String(), err) {
				log.Error("a checkpoint is damaged and is left out of lists; restore it from a backup or delete it",
					"path", p, "error", err)
			}
			continue
		}
		list = append(list, c)
	}
	return list, nil
}

// damageIsNew reports whether this reason for which a checkpoint cannot be read is asked about for the first time.
func (s *Store) damageIsNew(path string, why error) bool {
	s.logged.Lock()
	defer s.logged.Unlock()
	known := s.damaged[path] == why.Error()
	s.damaged[path] = why.Error()
	return !known
}

// Describe describes one checkpoint.
func (s *Store) Describe(path string) (tinker.Checkpoint, error) {
	v := s.View()
	defer v.Close()
	return v.describe(path)
}

func (v View) describe(path string) (tinker.Checkpoint, error) {
	m, p, dir, err := v.Read(path)
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

// Verify reads every checkpoint below dir. It returns their number and the damage.
func Verify(dir string) (found int, damaged, err error) {
	v := (&Store{dir: dir, now: func() time.Time { return time.Time{} }}).View()
	defer v.Close()
	paths, err := v.all()
	if err != nil {
		return 0, nil, err
	}
	for _, p := range paths {
		m, _, folder, err := v.Read(p.String())
		for name := range m.Files {
			err = errors.Join(err, m.Check(folder, name))
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
		if _, err := ReadTensors(path); err != nil {
			return fmt.Errorf("engine: %w", err)
		}
	}
	return nil
}

// Folder returns the folder of a checkpoint below dir.
func Folder(dir, path string) (string, error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return "", err
	}
	folder := (&Store{dir: dir}).folder(p)
	if _, err := os.Stat(filepath.Join(folder, manifestFile)); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("engine: checkpoint %s is not in %s; one of a remote service must be downloaded first",
			path, dir)
	} else if err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	return folder, nil
}
