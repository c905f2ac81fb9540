package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// Load reads config.json and the weights of a Hugging Face folder: model.safetensors, or the shards that
// model.safetensors.index.json names. Weights that are all bf16 are computed in bf16, anything else in float32. Errors
// name the file and the tensor.
func Load(dir string, on nn.Compute) (*Weights, error) {
	c, err := LoadConfig(dir)
	if err != nil {
		return nil, err
	}
	shards, err := openShards(dir)
	if err != nil {
		return nil, err
	}
	w, err := loadShards(dir, c, shards, on)
	for _, f := range shards {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// openShards opens all weight files of a folder.
func openShards(dir string) ([]*safetensors.File, error) {
	names, err := shardNames(dir)
	if err != nil {
		return nil, err
	}
	var files []*safetensors.File
	for _, n := range names {
		f, err := safetensors.Open(filepath.Join(dir, n))
		if err != nil {
			for _, f := range files {
				err = errors.Join(err, f.Close())
			}
			return nil, fmt.Errorf("model: %w", err)
		}
		files = append(files, f)
	}
	return files, nil
}

// WeightFiles returns the names of the files that hold a folder's weights, with the index of shards.
func WeightFiles(dir string) ([]string, error) {
	names, err := shardNames(dir)
	if err == nil && exists(filepath.Join(dir, indexFile)) {
		names = append(names, indexFile)
	}
	return names, err
}

// shardNames returns the files that hold a folder's weights, sorted.
func shardNames(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, singleFile)); err == nil {
		return []string{singleFile}, nil
	}
	path := filepath.Join(dir, indexFile)
	data, err := disk.ReadFile(path, disk.BigFile)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if old, err := disk.Glob(dir, "*.bin"); err == nil && len(old) > 0 {
			hint = fmt.Sprintf("; %s is an older format, save the model again with safe_serialization",
				filepath.Base(old[0]))
		}
		return nil, fmt.Errorf("model: %s has neither %s nor %s: a model folder needs its weights%s", dir, singleFile,
			indexFile, hint)
	}
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("model: %s: %w", path, err)
	}
	var names []string
	for _, n := range index.WeightMap {
		if !filepath.IsLocal(n) {
			return nil, fmt.Errorf("model: %s names %q, which is outside the folder", path, n)
		}
		names = append(names, n)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("model: %s names no files", path)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// CheckWeights returns the error with which [Load] would refuse the weights of the model folder dir. It reads only the
// headers of the files.
func CheckWeights(dir string, c Config) error {
	shards, err := openShards(dir)
	if err != nil {
		return err
	}
	err = newFileSource(shards).check(dir, c)
	for _, f := range shards {
		err = errors.Join(err, f.Close())
	}
	return err
}

// loadShards checks all tensors the model needs and packs them.
func loadShards(dir string, c Config, shards []*safetensors.File, on nn.Compute) (*Weights, error) {
	from := newFileSource(shards)
	if err := from.check(dir, c); err != nil {
		return nil, err
	}
	c.BF16 = from.allBF16(c)
	memory, err := c.Reserve()
	if err != nil {
		return nil, err
	}
	return pack(memory, c, from, on), nil
}

// StoredBF16 reports whether all weights of the model folder dir are bf16, so that [Load] computes in bf16, whatever
// config.json says. It reads only the headers of the files.
func StoredBF16(dir string, c Config) (bool, error) {
	shards, err := openShards(dir)
	if err != nil {
		return false, err
	}
	bf16 := newFileSource(shards).allBF16(c)
	for _, f := range shards {
		err = errors.Join(err, f.Close())
	}
	return bf16, err
}

// fileTensor is a tensor and its file.
type fileTensor struct {
	file *safetensors.File
	safetensors.Tensor
}

// fileSource is tensors in mapped files. They are packed from the mapping, whose pages are released one after another.
type fileSource map[string]fileTensor

func newFileSource(shards []*safetensors.File) fileSource {
	from := fileSource{}
	for _, f := range shards {
		for _, t := range f.Tensors() {
			from[t.Name] = fileTensor{f, t}
		}
	}
	return from
}

// check compares the tensors with those that the model needs.
func (f fileSource) check(dir string, c Config) error {
	for _, s := range parameters(c) {
		t, ok := f[s.name]
		if !ok {
			return fmt.Errorf("model: %s: tensor %q is missing", dir, s.name)
		}
		if !slices.Equal(t.Shape, s.shape) {
			return fmt.Errorf("model: %s: tensor %q has shape %v, config.json gives %v", dir, s.name, t.Shape, s.shape)
		}
		if !t.DType.Widens() {
			return fmt.Errorf("model: %s: tensor %q has dtype %s; supported are F32, BF16 and F16", dir, s.name,
				t.DType)
		}
	}
	return nil
}

// allBF16 reports whether every parameter of c is stored in bf16.
func (f fileSource) allBF16(c Config) bool {
	return !slices.ContainsFunc(parameters(c), func(s spec) bool { return f[s.name].DType != safetensors.BF16 })
}

func (f fileSource) rows(name string) kernel.Rows {
	t := f[name]
	r := kernel.Rows{Data: t.Data, K: t.Len()}
	switch t.DType {
	case safetensors.BF16:
		r.Element = kernel.ElementBF16
	case safetensors.F16:
		r.Element = kernel.ElementF16
	}
	return r
}

func (f fileSource) done(names ...string) {
	for _, n := range names {
		f[n].file.Release()
	}
}

// ownHead reports whether the files of the model folder dir hold a head with other values than the embedding. Such a
// model is not tied, whatever config.json says: transformers 5 takes the stored head. It is false without weights that
// can be read.
func ownHead(dir string) (own bool, err error) {
	shards, err := openShards(dir)
	if err != nil {
		return false, nil
	}
	from := newFileSource(shards)
	if head, there := from[headName]; there && from[embedName].file != nil {
		own, err = differ(head.Tensor, from[embedName].Tensor)
	}
	for _, f := range shards {
		err = errors.Join(err, f.Close())
	}
	return own, err
}

// differ reports whether two tensors have different values.
func differ(a, b safetensors.Tensor) (bool, error) {
	if a.DType == b.DType || !slices.Equal(a.Shape, b.Shape) {
		return !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data), nil
	}
	x, err := a.Floats()
	y, err2 := b.Floats()
	return !slices.Equal(x, y), errors.Join(err, err2)
}

// FolderConfig returns config.json for a copy of the model folder dir: the folder's own, with tie_word_embeddings off
// if the head has values of its own, so that every release of transformers takes them.
func FolderConfig(dir string) ([]byte, error) {
	data, err := disk.ReadFile(filepath.Join(dir, "config.json"), disk.SmallFile)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(data)
	if err != nil || !c.Tied { // a model of another family is copied as it is
		return data, nil
	}
	if own, err := ownHead(dir); err != nil || !own {
		return data, err
	}
	return untied(data)
}
