// Package modelname finds the folder of a model by the names that people have for it: a folder, a GGUF file, a name on
// the Hugging Face hub.
package modelname

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
)

// Finder finds models.
type Finder struct {
	Find  func(path string) string // turns a path into where the file is
	Hub   *hub.Hub                 // nil: only local files
	Cache string                   // for the folders made of GGUF files; "": none can be made
}

// Folder returns the folder of a model: the path itself, as Find turns it, if there is such a folder; one made of a
// GGUF file, which is made at its first use; else what the name leads to on the hub.
func (f Finder) Folder(ctx context.Context, name string) (string, error) {
	path := f.Find(name)
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		if file := onlyGGUF(path); file != "" {
			return f.fromGGUF(file)
		}
		return path, nil
	case err == nil && isGGUF(path):
		return f.fromGGUF(path)
	case f.Hub == nil || !hub.IsName(name):
		return "", fmt.Errorf("modelname: model %q is not a folder or GGUF file here; model.model_path must name a "+
			"Hugging "+
			"Face folder with config.json, tokenizer.json and safetensors files, a GGUF file, or a model on the hub "+
			"such "+
			"as meta-llama/Llama-3.2-3B", name)
	}
	return f.Hub.Model(ctx, name)
}

func isGGUF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gguf") }

// onlyGGUF is the GGUF file of a folder that is no model folder and has exactly one; else "".
func onlyGGUF(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		return ""
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	found := ""
	for _, e := range entries {
		switch {
		case !isGGUF(e.Name()):
		case found != "":
			return ""
		default:
			found = filepath.Join(dir, e.Name())
		}
	}
	return found
}

// fromGGUF returns the model folder made of a file: the one in the cache, or a new one. The folder appears whole, so
// several processes may make it at a time.
func (f Finder) fromGGUF(path string) (string, error) {
	dir, err := f.cached(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		return dir, nil
	}
	file, err := gguf.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := modeldir.Write(file, tmp); err != nil {
		return "", err
	}
	err = os.Rename(tmp, dir)
	if _, there := os.Stat(filepath.Join(dir, "config.json")); err != nil && errors.Is(there, fs.ErrNotExist) {
		return "", fmt.Errorf("modelname: %w", err)
	}
	return dir, nil // another process may have been faster
}

// version is part of the names of folders made of GGUF files; it changes when they are made in another way.
const version = "1"

// cached is the place of the folder made of a file. The file's place, size and time tell it from others.
func (f Finder) cached(path string) (string, error) {
	if f.Cache == "" {
		return "", fmt.Errorf("modelname: %s is a GGUF file, and there is no cache for the model folder made of it; "+
			"set "+
			"HOME "+
			"or XDG_CACHE_HOME", path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	st, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", version, abs, st.Size(), st.ModTime().UnixNano()))
	base := strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	return filepath.Join(f.Cache, "trinity", "gguf", base+"-"+hex.EncodeToString(sum[:6])), nil
}
