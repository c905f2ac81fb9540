package disk

import (
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
		return CopyFile(OS(), path, at)
	})
}

// CopyFile makes a file with the bytes of another, whole or not at all. Its folder is there.
func CopyFile(to FS, from, name string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return Replace(to, name, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	})
}

// Exists reports whether something has that name.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// IsFolder reports whether a folder has that name.
func IsFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
