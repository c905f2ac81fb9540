package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Folder returns where on disk a checkpoint lies. It is for reading: the engine alone writes and removes there.
func (e *Engine) Folder(path string) (string, error) {
	_, _, dir, err := e.store.read(path)
	return dir, err
}

// CheckpointFolder is Folder without an engine, of the checkpoints in dir, which was an engine's [Options.Dir].
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
