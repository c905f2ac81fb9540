package gguf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// alignment is general.alignment.
func (h *head) alignment(m Metadata) int64 {
	v, there := m.values["general.alignment"]
	if !there {
		return 32
	}
	n, ok := v.(int64)
	if !ok || n < 1 || n > maxAlignment || n&(n-1) != 0 {
		h.fail("general.alignment is %v; it must be a power of two up to %d", v, maxAlignment)
		return 1
	}
	return n
}

// tensors reads where the tensors are, relative to the start of the data.
func (h *head) tensors(f *File, n uint64) {
	seen := map[string]bool{}
	for i := uint64(0); i < n && h.err == nil; i++ {
		t := Tensor{Name: h.text(maxName)}
		if h.err == nil && (seen[t.Name] || t.Name == "" || !utf8.ValidString(t.Name)) {
			h.fail("tensor %d has the name %q, which is there twice, empty or not UTF-8", i, t.Name)
		}
		seen[t.Name] = true
		h.tensor(&t)
		f.Tensors = append(f.Tensors, t)
	}
}

// tensor reads sizes, type and offset.
func (h *head) tensor(t *Tensor) {
	dims := h.u32()
	if h.err == nil && (dims < 1 || dims > 4) {
		h.fail("tensor %s has %d dimensions; it must be 1 to 4", t.Name, dims)
		return
	}
	elements := int64(1)
	for range dims {
		d := h.u64()
		if h.err == nil && (d < 1 || d > uint64(math.MaxInt64/elements)) {
			h.fail("tensor %s has a dimension of size %d", t.Name, d)
			return
		}
		t.Shape = append(t.Shape, int64(d))
		elements *= max(1, int64(d))
	}
	t.Type = Type(h.u32())
	offset := h.u64()
	if h.err != nil {
		return
	}
	l, known := layouts(t.Type)
	switch row := t.Shape[0]; {
	case !known:
		h.fail("tensor %s is stored as %s, which is unknown", t.Name, t.Type)
	case l.widen == nil:
		h.fail("tensor %s is stored as %s, which is not read; convert the model to another type with llama-quantize, "+
			"such as Q8_0", t.Name, t.Type)
	case row%l.n != 0:
		h.fail("tensor %s has rows of %d elements, which is not a multiple of %d, the block of %s", t.Name, row, l.n,
			t.Type)
	case elements/l.n > math.MaxInt64/l.size || offset > math.MaxInt64:
		h.fail("tensor %s has %d elements at offset %d, which is not possible", t.Name, elements, offset)
	default:
		t.size, t.offset = elements/l.n*l.size, int64(offset)
	}
	slices.Reverse(t.Shape)
}

// place makes the offsets absolute and refuses tensors outside the file or over one another. The data begins at the
// first multiple of alignment behind the head.
func place(tensors []Tensor, head, alignment, size int64) error {
	start := (head + alignment - 1) / alignment * alignment
	order := make([]int, len(tensors))
	for i := range tensors {
		t := &tensors[i]
		order[i] = i
		if t.offset%alignment != 0 {
			return fmt.Errorf("tensor %s is at offset %d, which is not a multiple of the alignment %d", t.Name,
				t.offset, alignment)
		}
		if start > size || t.offset > size-start || t.size > size-start-t.offset {
			return fmt.Errorf("tensor %s ends at byte %d of the data, and the file has %d; download it again", t.Name,
				uint64(t.offset)+uint64(t.size), max(0, size-start))
		}
		t.offset += start
	}
	slices.SortFunc(order, func(a, b int) int { return int(min(1, max(-1, tensors[a].offset-tensors[b].offset))) })
	var errs []error
	for i := 1; i < len(order); i++ {
		a, b := tensors[order[i-1]], tensors[order[i]]
		if a.offset+a.size > b.offset {
			errs = append(errs, fmt.Errorf("tensors %s and %s overlap at byte %d", a.Name, b.Name, b.offset))
			break
		}
	}
	return errors.Join(errs...)
}
