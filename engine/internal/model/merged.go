package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// Merged is a model whose weights have an adapter's additions, read row by row: what Merge writes, before rounding.
// It is safe for concurrent use.
type Merged struct {
	Config Config // not tied if the adapter is on the head

	files  []*safetensors.File
	from   fileSource
	lora   LoRA
	deltas map[string][]float32
	k      *kernel.Set
}

// OpenMerged opens the model of folder base with an adapter, or as it is if a is nil. The caller must close it.
func OpenMerged(base string, a *PEFT, k *kernel.Set) (*Merged, error) {
	c, err := LoadConfig(base)
	if err != nil {
		return nil, err
	}
	m := &Merged{Config: c, k: k}
	if a != nil {
		if m.lora, m.deltas, err = a.fit(base, c); err != nil {
			return nil, err
		}
	}
	if m.files, err = openShards(base); err != nil {
		return nil, err
	}
	m.from = newFileSource(m.files)
	if c.Tied && slices.Contains(m.lora.Targets(), "lm_head") {
		m.Config.Tied, m.from[headName] = false, m.from[embedName]
	}
	for _, s := range parameters(m.Config) {
		t, ok := m.from[s.name]
		if !ok || !slices.Equal(t.Shape, s.shape) || !t.DType.Widens() {
			err := fmt.Errorf("model: %s: tensor %q is missing, or its shape %v is not %v, or its dtype %s is not "+
				"F32, BF16 or F16", base, s.name, t.Shape, s.shape, t.DType)
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

// fit returns the tensors of an adapter by their names, for a model.
func (a PEFT) fit(base string, c Config) (LoRA, map[string][]float32, error) {
	a.Tensors = slices.Clone(a.Tensors)
	a.Fill(c)
	deltas, err := match(a.LoRA.specs(c), a.Tensors)
	if err != nil {
		return LoRA{}, nil, fmt.Errorf("model: the adapter does not fit %s: %w", base, err)
	}
	return a.LoRA, deltas, nil
}

// Close closes the files.
func (m *Merged) Close() error {
	var err error
	for _, f := range m.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Rows reads whole rows of a tensor from row first on, in float32: len(to) elements. A vector is one row.
func (m *Merged) Rows(name string, first int, to []float32) error {
	t := m.from[name]
	width := t.Shape[len(t.Shape)-1]
	begin, size := first*width, t.DType.Size()
	if len(to)%width != 0 || begin+len(to) > t.Len() {
		return fmt.Errorf("model: tensor %q has no %d elements from row %d on", name, len(to), first)
	}
	some := safetensors.Tensor{Name: name, DType: t.DType, Data: t.Data[begin*size : (begin+len(to))*size]}
	x, err := some.Floats()
	if err != nil {
		return err
	}
	copy(to, x)
	if begin+len(to) == t.Len() {
		t.file.Release()
	}
	at := prefix + strings.TrimSuffix(name, ".weight")
	if A, B := m.deltas[at+".lora_A.weight"], m.deltas[at+".lora_B.weight"]; A != nil {
		m.lora.add(m.k, to, A, B[first*m.lora.Rank:], width)
	}
	return nil
}

// add adds Alpha/Rank·B·A to rows of a matrix; B are the rows of B for them.
func (l LoRA) add(k *kernel.Set, rows, A, B []float32, width int) {
	delta, scale := make([]float32, width), float32(l.Alpha/float64(l.Rank))
	for n := range len(rows) / width {
		clear(delta)
		for i := range l.Rank {
			k.AXPY(delta, B[n*l.Rank+i], A[i*width:(i+1)*width])
		}
		k.AXPY(rows[n*width:(n+1)*width], scale, delta)
	}
}

// Pair is the factors of a LoRA on one matrix: A [Rank, in] and B [out, Rank].
type Pair struct{ A, B []float32 }

// Pairs returns the factors of the adapter by the name of the matrix, such as model.layers.0.self_attn.q_proj, for the
// model in folder base. Matrices of a module that the adapter leaves out are left out.
func (a PEFT) Pairs(base string, c Config) (map[string]Pair, error) {
	if _, _, err := a.fit(base, c); err != nil {
		return nil, err
	}
	pairs := map[string]Pair{}
	for _, t := range a.Tensors {
		name := strings.TrimPrefix(t.Name, prefix)
		if at, isA := strings.CutSuffix(name, ".lora_A.weight"); isA {
			pairs[at] = Pair{A: t.Data, B: pairs[at].B}
		} else {
			at = strings.TrimSuffix(name, ".lora_B.weight")
			pairs[at] = Pair{A: pairs[at].A, B: t.Data}
		}
	}
	return pairs, nil
}
