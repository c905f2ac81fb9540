package modelname

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

func isGGUF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gguf") }

// file is the model of a GGUF file.
func (f Finder) file(ctx context.Context, path string) (Model, error) {
	name := fileName(path)
	dir, err := f.made(ctx, path, name)
	return Model{Dir: dir, File: path, Name: name}, err
}

// fileName is the name of the model in a GGUF file: the file's name without .gguf, and without the number of a part.
func fileName(path string) string {
	base := filepath.Base(path)
	if prefix, _, _, ok := gguf.ParseSplit(base); ok {
		return prefix
	}
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// folder is the model of a folder: a Hugging Face folder as it is, or the only GGUF model in it. Repositories of GGUF
// files may have a config.json too, but no safetensors.
func (f Finder) folder(ctx context.Context, dir string) (Model, error) {
	if weights, err := disk.Glob(dir, "*.safetensors"); err == nil && len(weights) > 0 {
		return Model{Dir: dir}, nil
	}
	files, err := GGUFs(dir)
	switch {
	case err != nil:
		return Model{}, fmt.Errorf("modelname: %w", err)
	case len(files) == 0:
		return Model{Dir: dir}, nil // its reader reports what is missing
	case len(files) > 1:
		for i, path := range files {
			files[i] = filepath.Base(path)
		}
		return Model{}, fmt.Errorf("modelname: the folder %s has several GGUF models: %s; name one of the files", dir,
			strings.Join(files, ", "))
	}
	return f.file(ctx, files[0])
}

// GGUFs lists the GGUF models of a folder, by the first file of each. Files that go with a model, such as a projector
// of images (mmproj-…), are left out.
func GGUFs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && IsModelFile(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// IsModelFile reports whether a file is a GGUF model or the first part of one, by its name.
func IsModelFile(base string) bool {
	_, i, _, part := gguf.ParseSplit(base)
	lower := strings.ToLower(base)
	beside := strings.HasPrefix(lower, "mmproj") || strings.Contains(lower, "imatrix")
	return isGGUF(base) && (!part || i == 1) && !beside
}
