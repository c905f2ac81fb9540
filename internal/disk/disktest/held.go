package disktest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Held is a disk.FS that neither renames, replaces nor removes what this process has open, as on Windows. It reads
// the open files from /proc; on a system without that it refuses nothing.
type Held struct{ disk.FS }

// Rename implements disk.FS.
func (h Held) Rename(from, to string) error {
	for _, path := range []string{from, to} {
		if err := held(path); err != nil {
			return err
		}
	}
	return h.FS.Rename(from, to)
}

// Remove implements disk.FS.
func (h Held) Remove(path string) error {
	if err := held(path); err != nil {
		return err
	}
	return h.FS.Remove(path)
}

// RemoveAll implements disk.FS.
func (h Held) RemoveAll(path string) error {
	if err := held(path); err != nil {
		return err
	}
	return h.FS.RemoveAll(path)
}

// held returns an error if this process has a file open that is path or lies below it.
func held(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	const files = "/proc/self/fd"
	open, err := os.ReadDir(files)
	if err != nil {
		return nil // not Linux
	}
	for _, f := range open {
		name, err := os.Readlink(filepath.Join(files, f.Name()))
		if err == nil && (name == path || strings.HasPrefix(name, path+"/")) {
			return fmt.Errorf("disktest: %s is open; Windows would refuse", name)
		}
	}
	return nil
}
