package model

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// TemplateFile is the chat template of a model folder. It wins over those in tokenizer_config.json.
const TemplateFile = "chat_template.jinja"

// FolderFiles lists the files of the model folder dir besides its weights: paths below it, with slashes. Some of them
// may be missing. The chat templates that have files are left out if they are not wanted.
func FolderFiles(dir string, templates bool) []string {
	list := []string{"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
		"tokenizer.model", "special_tokens_map.json", "vocab.json", "merges.txt", "added_tokens.json"}
	if !templates {
		return list
	}
	named, _ := tokenizer.TemplateFiles(dir) // a folder that cannot be read has none
	return append(append(list, named...), TemplateFile, "chat_template.json")
}

// Files are the open weight files of a model folder.
type Files struct {
	Shards  []*safetensors.File
	dir     string
	tensors fileSource

	mu   sync.Mutex
	last safetensors.Tensor // that Tensor made: it is read in parts, one after another
}

// OpenFiles opens all weight files of a folder.
func OpenFiles(dir string) (*Files, error) {
	names, err := shardNames(dir)
	if err != nil {
		return nil, err
	}
	out := &Files{dir: dir, tensors: fileSource{}}
	for _, n := range names {
		f, err := safetensors.Open(filepath.Join(dir, n))
		if err != nil {
			return nil, fmt.Errorf("model: %w", errors.Join(err, out.Close()))
		}
		out.Shards = append(out.Shards, f)
		for _, t := range f.Tensors() {
			if name, ok := TextName(t.Name); ok {
				out.tensors[name] = fileTensor{file: f, Tensor: t}
			}
		}
	}
	out.tensors.unstack()
	return out, nil
}

// Close closes the files.
func (f *Files) Close() error {
	var err error
	for _, s := range f.Shards {
		err = errors.Join(err, s.Close())
	}
	return err
}

// Tensor returns the tensor of that name.
func (f *Files) Tensor(name string) (t safetensors.Tensor, ok bool) {
	found, ok := f.tensors[name]
	if found.part == nil {
		return found.Tensor, ok
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last.Name != name {
		f.last = found.Tensor
		f.last.Data = found.part(0, found.Shape[0])
	}
	return f.last, ok
}

// Release says that a tensor was read and is not needed again: its pages of the file leave memory.
func (f *Files) Release(name string) { f.tensors[name].file.Release() }

// Untie makes the embedding the head, too.
func (f *Files) Untie() { f.tensors[HeadName] = f.tensors[EmbedName] }

// Check compares the tensors with those that a model needs.
func (f *Files) Check(c Config) error {
	for _, s := range parameters(c) {
		t, ok := f.tensors[s.name]
		if !ok {
			return fmt.Errorf("model: %s: tensor %q is missing", f.dir, s.name)
		}
		if !slices.Equal(t.Shape, s.shape) {
			return fmt.Errorf("model: %s: tensor %q has shape %v, config.json gives %v", f.dir, s.name, t.Shape,
				s.shape)
		}
		if !t.DType.Widens() {
			return fmt.Errorf("model: %s: tensor %q has dtype %s; supported are F32, BF16 and F16", f.dir, s.name,
				t.DType)
		}
	}
	return nil
}

// allBF16 reports whether every parameter of c is stored in bf16.
func (f *Files) allBF16(c Config) bool {
	return !slices.ContainsFunc(parameters(c), func(s spec) bool {
		return f.tensors[s.name].DType != safetensors.BF16 && !KeepsPrecision(s.name)
	})
}

// fileTensor is a tensor and its file.
type fileTensor struct {
	file *safetensors.File
	safetensors.Tensor
	part func(a, b int) []byte // rows or, of a vector, elements a to b-1 of one without Data, a part of another; or nil
	four func(a, b int) []byte // rows a to b-1 in MXFP4, or nil
}

// of returns rows or elements a to b-1, each of that width.
func (t fileTensor) of(width, a, b int) kernel.Rows {
	r := kernel.Rows{K: width}
	switch t.DType {
	case safetensors.BF16:
		r.Element = kernel.ElementBF16
	case safetensors.F16:
		r.Element = kernel.ElementF16
	}
	switch {
	case t.four != nil:
		r.Element, r.Data = kernel.ElementMXFP4, t.four(a, b)
		return r
	case t.part != nil:
		r.Data = t.part(a, b)
		return r
	}
	r.Data = t.Data
	return r.Slice(a, b)
}

// fileSource is tensors in mapped files. They are packed from the mapping, whose pages are released one after another.
type fileSource map[string]fileTensor

func (f fileSource) rows(name string, width, a, b int) kernel.Rows { return f[name].of(width, a, b) }

func (f fileSource) vector(name string) kernel.Rows {
	t := f[name]
	if t.part == nil {
		return t.of(t.Len(), 0, 1)
	}
	v := t.of(1, 0, t.Shape[0])
	v.K = t.Shape[0]
	return v
}

func (f fileSource) done(names ...string) {
	for _, n := range names {
		f[n].file.Release()
	}
}
