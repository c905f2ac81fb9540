package merge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// Rows is a model whose weights have an adapter's additions, read row by row: as Write writes it, before rounding.
// It is safe for concurrent use.
type Rows struct {
	Config model.Config // not tied if the adapter is on the head

	files *model.Files
	lora  model.LoRA
	pairs map[string][]model.Pair
	k     *kernel.Set
}

// Open opens the model of folder base with an adapter, or as it is if a is nil. The caller must close it.
func Open(base string, a *model.PEFT, k *kernel.Set) (*Rows, error) {
	c, err := model.LoadConfig(base)
	if err != nil {
		return nil, err
	}
	m := &Rows{Config: c, k: k}
	if a != nil {
		if m.pairs, err = a.Pairs(base, c); err != nil {
			return nil, err
		}
		m.lora = a.LoRA
	}
	if m.files, err = model.OpenFiles(base); err != nil {
		return nil, err
	}
	if c.Tied && slices.Contains(m.lora.Targets(), "lm_head") {
		m.Config.Tied = false
		m.files.Untie()
	}
	if err := m.files.Check(m.Config); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close closes the files.
func (m *Rows) Close() error { return m.files.Close() }

// Rows reads whole rows of a tensor from row first on, in float32: len(to) elements. A vector is one row.
func (m *Rows) Rows(name string, first int, to []float32) error {
	t, _ := m.files.Tensor(name)
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
		m.files.Release(name)
	}
	for _, p := range m.pairs[strings.TrimSuffix(name, ".weight")] {
		add(m.k, p, to, first, width)
	}
	return nil
}

// add adds Scale·B·A to the rows of a matrix from row first on.
func add(k *kernel.Set, p model.Pair, rows []float32, first, width int) {
	rank, delta := len(p.A)/width, make([]float32, width)
	begin, end := max(first, p.First), min(first+len(rows)/width, p.First+len(p.B)/rank)
	for row := begin; row < end; row++ {
		clear(delta)
		B := p.B[(row-p.First)*rank:]
		for i := range rank {
			k.AXPY(delta, B[i], p.A[i*width:(i+1)*width])
		}
		k.AXPY(rows[(row-first)*width:(row-first+1)*width], p.Scale, delta)
	}
}
