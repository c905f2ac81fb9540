package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/examples/tiny"
)

// shippedRoot is the folder of the carried example in a clone of the project.
const shippedRoot = "examples/tiny"

// find returns the location of the file named path. Outside a clone, paths of the example that the program carries lead
// to a copy in the user's cache.
func (s *surroundings) find(path string) string {
	rel, ok := strings.CutPrefix(filepath.ToSlash(filepath.Clean(path)), shippedRoot)
	if _, err := os.Stat(path); err == nil || !ok || rel != "" && rel[0] != '/' {
		return path
	}
	root, err := filepath.Join(s.cacheDir, "trinity", tiny.Version()), errors.New("HOME is not set")
	if s.cacheDir != "" {
		err = unpack(tiny.Files(), root)
	}
	if err != nil && s.packed != nil {
		s.packed.Do(func() {
			fmt.Fprintf(s.err, "note: the example that the program carries cannot be unpacked: %v; set XDG_CACHE_HOME "+
				"to a folder that can be written\n", err)
		})
	}
	if err != nil {
		return path // opening it reports that it does not exist
	}
	return filepath.Join(root, filepath.FromSlash(rel))
}

// unpack writes the files below root, unless they exist. The folder gets its name when it is complete.
func unpack(files fs.FS, root string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(root), "unpack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.CopyFS(filepath.Join(tmp, "tiny"), files); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(tmp, "tiny"), root)
	if _, there := os.Stat(root); there == nil {
		return nil // another process was faster
	}
	return err
}
