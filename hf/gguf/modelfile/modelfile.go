// Package modelfile writes models and LoRA adapters as GGUF files, which llama.cpp and Ollama load. It is the inverse
// of package modeldir. Metadata, names and the changes to weights follow llama.cpp 0c1e57098, its conversion in Python
// and its loader; package gguf makes the blocks.
package modelfile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// Kind is the type, or the mix of types, of a model's matrices.
type Kind string

// The kinds. Norms and biases are always F32.
const (
	f32  Kind = "f32"
	F16  Kind = "f16"
	BF16 Kind = "bf16"
	Q8   Kind = "q8_0"
	q4KM Kind = "q4_k_m" // mostly Q4_K, and Q6_K where it matters most
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{f32, F16, BF16, Q8, q4KM} }

// fileType is the kind's number in general.file_type.
func (k Kind) fileType() uint32 {
	return map[Kind]uint32{f32: 0, F16: 1, Q8: 7, q4KM: 15, BF16: 32}[k]
}

// weights gives the rows of a model's tensors by Hugging Face's names. It is safe for concurrent use.
type weights interface {
	// Rows reads whole rows from row first on: len(to) elements. A vector is one row.
	Rows(name string, first int, to []float32) error
}

// Model is the source of a file.
type Model struct {
	Name    string // shown to users
	Shape   Shape
	Weights weights
	Dir     string  // has tokenizer.json, and tokenizer_config.json and chat_template.jinja if there are such
	Ends    []int32 // the tokens that end a text by config.json and generation_config.json
	// Template is the chat template; "": Dir's.
	Template string
}

// File is a file that is to be written: its metadata, and tensors that are made while they are written.
type File struct {
	pairs []gguf.Pair
	parts []*part
	stops []string
}

// Plan reads the tokenizer and lays out the file.
func (m Model) Plan(kind Kind) (*File, error) {
	if !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("modelfile: %q is not a kind of file; choose one of %s", kind, names(Kinds()))
	}
	if err := m.Shape.check(); err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	words, err := readVocabulary(m.Dir, m.Template, m.Shape.Vocab, m.Ends)
	if err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	f := &File{stops: words.stops}
	f.pairs = append(m.Shape.pairs(m.Name, kind), words.pairs()...)
	for _, t := range m.Shape.tensors() {
		t.kind = m.Shape.typeOf(t, kind)
		f.parts = append(f.parts, &part{tensor: t, rows: m.Weights.Rows})
	}
	return f, nil
}

func names(kinds []Kind) string {
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = string(k)
	}
	return strings.Join(list, ", ")
}

// Stops are the texts of the tokens that end an answer.
func (f *File) Stops() []string { return f.stops }

// Encode writes the file. It may be called once.
func (f *File) Encode(w io.Writer) error {
	list := make([]gguf.Part, len(f.parts))
	for i, p := range f.parts {
		list[i] = gguf.Part{Name: p.name, Type: p.kind, Shape: p.shape, Write: p.write}
	}
	return gguf.Encode(w, f.pairs, list)
}

// Size is about how many bytes Encode writes; the metadata is estimated.
func (f *File) Size() int64 {
	n := int64(0)
	for _, p := range f.pairs {
		n += int64(len(p.Key)) + 16
		if list, ok := p.Value.([]string); ok {
			for _, s := range list {
				n += int64(len(s)) + 8
			}
		}
	}
	for _, p := range f.parts {
		size, _ := p.kind.Bytes(p.elements())
		n += size + 128
	}
	return n
}

// Loss is the rounding error of the tensors of one type.
type Loss struct {
	Type    gguf.Type
	Tensors int
	// Error is the root of the mean squared error as a share of the weights' own root mean square.
	Error float64
}

// Losses tells what was lost, by type, once Encode has written the file.
func (f *File) Losses() []Loss {
	byType, miss, all := map[gguf.Type]int{}, map[gguf.Type]float64{}, map[gguf.Type]float64{}
	for _, p := range f.parts {
		byType[p.kind]++
		miss[p.kind] += p.miss
		all[p.kind] += p.square
	}
	var list []Loss
	for _, t := range slices.Sorted(maps.Keys(byType)) {
		list = append(list, Loss{Type: t, Tensors: byType[t], Error: share(miss[t], all[t])})
	}
	return list
}
