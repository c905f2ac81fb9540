package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Folder returns the folder of a checkpoint on disk. Callers may only read it.
func (e *Engine) Folder(path string) (string, error) {
	_, _, dir, err := e.store.read(path)
	return dir, err
}

// CheckpointFolder is Folder without an engine; dir is the [Options.Dir] of an earlier engine.
func CheckpointFolder(dir, path string) (string, error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return "", err
	}
	folder := (&store{dir: dir}).folder(p)
	if _, err := os.Stat(filepath.Join(folder, manifestFile)); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("engine: checkpoint %s is not in %s; one of a remote service must be downloaded first",
			path, dir)
	} else if err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	return folder, nil
}
