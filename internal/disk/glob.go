package disk

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Glob lists the paths below a folder that match a pattern of fs.Glob, which has slashes. The folder's own name is no
// pattern: a job may be called grpo[1]. Paths are sorted by their elements. A folder that cannot be read has none.
func Glob(dir, pattern string) ([]string, error) {
	dir = cmp.Or(dir, ".")
	names, err := fs.Glob(os.DirFS(dir), path.Clean(pattern))
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names, err
}
