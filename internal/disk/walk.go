package disk

import (
	"io/fs"
	"path/filepath"
)

// Files lists what is in a folder and in folders below it, except the folders themselves: paths below it, with slashes,
// sorted by their elements.
func Files(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	return names, err
}

// WalkDir is filepath.WalkDir for a folder that a user names: one that is a symbolic link is walked, and the paths
// that visit gets are below the name that was given. Links below it are not followed, as there.
func WalkDir(root string, visit fs.WalkDirFunc) error {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return filepath.WalkDir(root, visit)
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(real, path)
		if relErr != nil {
			return relErr
		}
		return visit(filepath.Join(root, rel), d, err)
	})
}
