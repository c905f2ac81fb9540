package main

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
)

// given is the shape of a model with weights of its own: a Hugging Face folder, or a GGUF file, whose folder is made
// below cache.
func given(ctx context.Context, path, cache string) (shape, error) {
	find := func(path string) string { return path }
	dir, err := modelname.Finder{Find: find, Cache: cache}.Folder(ctx, path)
	if err != nil {
		return shape{}, err
	}
	c, err := engine.Describe(dir)
	if err != nil {
		return shape{}, err
	}
	base := filepath.Base(path)
	s := shape{name: strings.TrimSuffix(base, filepath.Ext(base)), vocab: c.Vocab, dim: c.Width, layers: c.Layers,
		heads: c.Heads, kvHeads: c.KVHeads, headDim: c.HeadDim, ff: c.MLP, dir: dir}
	if strings.EqualFold(filepath.Ext(path), ".gguf") {
		s.gguf, err = filepath.Abs(path)
	}
	return s, err
}

// bf16Units reports whether this processor multiplies bf16 without widening it; arm64 is taken to. Only the order in
// which settings are tried depends on it.
func bf16Units() bool {
	if runtime.GOARCH == "arm64" {
		return true
	}
	return cpu.X86.HasAVX512BF16 || cpu.X86.HasAMXBF16
}
