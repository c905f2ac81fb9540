package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// LinkFolder gives a folder another name: a symbolic link or, if those need a privilege, as on Windows, a folder with
// the same files.
func LinkFolder(from, name string) error {
	if err := os.Symlink(from, name); err == nil {
		return nil
	}
	return shareFiles(from, name)
}

// shareFiles makes a folder with the files of another: by hard links, or by copies where there are none.
func shareFiles(from, to string) error {
	return WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		if d.Type().IsRegular() && os.Link(path, at) == nil {
			return nil
		}
		return copyFile(path, at)
	})
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
