// Package modeldir turns a GGUF file into the model folder that it was made from: config.json, model.safetensors in
// bf16, tokenizer.json and tokenizer_config.json. It undoes what llama.cpp's converter does to the weights. The rules
// follow convert_hf_to_gguf.py and the loader of llama.cpp 0c1e57098.
package modeldir

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Write writes the model folder of a file into dir, which exists. The weights take one pass and a few MiB of memory.
// config.json comes last: a folder that has one is complete.
func Write(f *gguf.File, dir string) error { return WriteContext(context.Background(), f, dir) }

// WriteContext is Write until ctx ends.
func WriteContext(ctx context.Context, f *gguf.File, dir string) error {
	files, err := plan(ctx, f)
	if err != nil {
		return fmt.Errorf("modeldir: %s: %w", f.Path(), err)
	}
	for _, file := range files {
		if err := disk.Replace(disk.OS(), filepath.Join(dir, file.name), file.write); err != nil {
			return fmt.Errorf("modeldir: %s: %w", f.Path(), err)
		}
	}
	return nil
}

// content is a file of a model folder and what writes it.
type content struct {
	name  string
	write func(io.Writer) error
}

// plan reads and checks everything but the values of the weights, and returns the files in the order of writing.
func plan(ctx context.Context, f *gguf.File) ([]content, error) {
	s, err := readShape(f.Metadata, tied(f))
	if err != nil {
		return nil, err
	}
	if err := readFactors(f, &s); err != nil {
		return nil, err
	}
	parts, err := weights(ctx, f, &s)
	if err != nil {
		return nil, err
	}
	v, err := readVocabulary(f.Metadata)
	if err != nil {
		return nil, err
	}
	tok, tokConfig, err := v.files()
	if err != nil {
		return nil, err
	}
	s.endAt(v.ends)
	config, err := encode(s.config())
	if err != nil {
		return nil, err
	}
	_, stream, err := safetensors.Stream(parts, map[string]string{"format": "pt"})
	if err != nil {
		return nil, err
	}
	files := []content{{"model.safetensors", stream}, {"tokenizer.json", whole(tok)},
		{"tokenizer_config.json", whole(tokConfig)}}
	stops, err := v.stops()
	if generation := s.generation(stops); generation != nil && err == nil {
		var data []byte
		data, err = encode(generation)
		files = append(files, content{"generation_config.json", whole(data)})
	}
	return append(files, content{"config.json", whole(config)}), err
}

func whole(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}
