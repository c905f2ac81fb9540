package python

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// carried is the Python package trinity.
//
//go:embed all:lib
var carried embed.FS

// unpack writes the library below folder and returns its place, which goes onto sys.path. "" takes a temporary folder,
// which remove deletes. The place is named by the content, is written beside and renamed, and is used again if it holds
// just that.
func unpack(folder string) (place string, remove func(), err error) {
	remove = func() {}
	if folder == "" {
		if folder, err = os.MkdirTemp("", "trinity-python-*"); err != nil {
			return "", remove, fmt.Errorf("python: %w", err)
		}
		remove = func() { os.RemoveAll(folder) }
	}
	if place, err = unpackInto(folder); err != nil {
		remove()
		return "", func() {}, fmt.Errorf("python: unpack the library: %w", err)
	}
	return place, remove, nil
}

func unpackInto(folder string) (string, error) {
	files, err := library()
	if err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	place := filepath.Join(folder, "lib-"+files.sum())
	if files.in(place) {
		return place, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(folder, "lib-part-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := files.write(part); err != nil {
		return "", err
	}
	err = os.Rename(part, place)
	if err != nil && !files.in(place) { // it is there, and damaged; else another program was faster
		old := part + "-old"
		defer os.RemoveAll(old)
		os.Rename(place, old)
		err = os.Rename(part, place)
	}
	if err != nil && !files.in(place) {
		return "", err
	}
	return place, nil
}

// tree is files by slash-separated path, sorted.
type tree []treeFile

type treeFile struct {
	path string
	data []byte
}

// library returns the embedded files, without compiled ones.
func library() (tree, error) {
	var files tree
	err := fs.WalkDir(carried, "lib", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path.Base(name) == "__pycache__":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) == ".pyc":
			return nil
		}
		data, err := carried.ReadFile(name)
		files = append(files, treeFile{strings.TrimPrefix(name, "lib/"), data})
		return err
	})
	return files, err
}

// sum names the content.
func (t tree) sum() string {
	h := sha256.New()
	for _, f := range t {
		fmt.Fprintf(h, "%s\x00%d\x00%s", f.path, len(f.data), f.data)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// in reports whether all files are in folder as they are here.
func (t tree) in(folder string) bool {
	for _, f := range t {
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(f.path)))
		if err != nil || !bytes.Equal(data, f.data) {
			return false
		}
	}
	return true
}

func (t tree) write(folder string) error {
	for _, f := range t {
		name := filepath.Join(folder, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.data, 0o644); err != nil {
			return err
		}
	}
	return os.Chmod(folder, 0o755)
}
