package modelfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// Adapter is a LoRA on some matrices of a model. llama.cpp computes y = W·x + Alpha/rank · B·(A·x).
type Adapter struct {
	Name  string // shown to users
	Shape Shape  // of its base model
	Rank  int
	Alpha float64
	// Factors are A [Rank, in] and B [out, Rank] by the Hugging Face name of the matrix, such as
	// model.layers.0.self_attn.q_proj.
	Factors map[string]Factor
}

// Factor is the pair of low rank of one matrix.
type Factor struct {
	A, B []float32
}

// Plan lays out the adapter's file. Its numbers are stored as F32, as they were trained.
func (a Adapter) Plan() (*File, error) {
	if err := a.Shape.check(); err != nil {
		return nil, fmt.Errorf("modelfile: %w", err)
	}
	f := &File{pairs: []gguf.Pair{{Key: "general.architecture", Value: a.Shape.arch()},
		{Key: "general.type", Value: "adapter"}, {Key: "general.name", Value: a.Name},
		{Key: "adapter.type", Value: "lora"}, {Key: "adapter.lora.alpha", Value: float32(a.Alpha)}}}
	left := maps.Clone(a.Factors)
	for _, t := range a.targets() {
		factor, there := left[t.from]
		if !there {
			continue
		}
		delete(left, t.from)
		if len(factor.A) != a.Rank*t.in || len(factor.B) != t.out*a.Rank || a.Rank < 1 {
			return nil, fmt.Errorf("modelfile: the adapter on %s has %d and %d numbers; rank %d on [%d, %d] has %d "+
				"and %d", t.from, len(factor.A), len(factor.B), a.Rank, t.out, t.in, a.Rank*t.in, t.out*a.Rank)
		}
		if t.from == headName && a.Shape.Tied {
			return nil, fmt.Errorf("modelfile: the adapter is on %s, and the model's head is its embedding: llama.cpp "+
				"has no tensor output.weight for it to be on; write the merged model instead, with --gguf f16, or "+
				"train without %[1]s in target_modules", headName)
		}
		f.parts = append(f.parts, factorPart(t, "lora_a", factor.A, a.Rank, t.in, 0),
			factorPart(t, "lora_b", factor.B, t.out, a.Rank, t.head))
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("modelfile: the adapter is on %s, where llama.cpp takes none; write the merged model "+
			"instead, with --gguf f16", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	if len(f.parts) == 0 {
		return nil, errors.New("modelfile: the adapter is on no matrix")
	}
	return f, nil
}

const headName = "lm_head"

// linear is a matrix that an adapter may be on.
type linear struct {
	from, to string // its names, without .weight
	out, in  int
	head     int
}

// targets lists the matrices that an adapter may be on, in the order of the file.
func (a Adapter) targets() []linear {
	var list []linear
	bare := func(name string) string { return strings.TrimSuffix(name, ".weight") }
	m := a.Shape.layout()
	for n := range m.Layers {
		for _, t := range m.Matrices(n) {
			if t.Stored != nil || t.Tile != nil || t.Stack > 0 {
				continue // its factors would have to be cut, reordered or stacked
			}
			list = append(list, linear{bare(t.Folder), bare(t.File), int(t.Shape[0]), int(t.Shape[1]), int(t.Head)})
		}
	}
	return append(list, linear{headName, "output", a.Shape.Vocab, a.Shape.Dim, 0})
}

// factorPart is one factor of a pair. Rows of B are rows of the matrix, so they are reordered with it; A's never are.
func factorPart(l linear, which string, x []float32, rows, width, head int) *part {
	return &part{
		tensor: tensor{name: l.to + ".weight." + which, from: l.from + "." + which, kind: gguf.F32, head: head,
			shape: []int64{int64(rows), int64(width)}},
		rows: func(_ string, first int, to []float32) error {
			copy(to, x[first*width:])
			return nil
		},
	}
}
