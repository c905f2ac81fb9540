package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// What a head may have at most; no published model comes near.
const (
	maxPairs     = 1 << 16
	maxTensors   = 1 << 20
	maxText      = 16 << 20 // bytes of one string, Ollama's limit
	maxElements  = 64 << 20 // of one array, Ollama's limit
	maxKey       = 1<<16 - 1
	maxName      = 63
	maxAlignment = 1 << 20
	maxHead      = 1 << 30 // bytes in all
)

// head reads the head of a file in order and counts how much is left.
type head struct {
	r    *io.SectionReader
	at   int64 // bytes read
	size int64 // of the file
	buf  [8]byte
	err  error // the first one; reads after it return zeros
}

// left is how many bytes there are behind those read.
func (h *head) left() int64 { return h.size - h.at }

func (h *head) fail(format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf("at byte %d: %w", h.at, fmt.Errorf(format, args...))
	}
}

// bytes reads n bytes, which must be at most 8 or checked against what is left before.
func (h *head) bytes(n int64) []byte {
	to := h.buf[:]
	if n > 8 {
		to = make([]byte, n)
	}
	to = to[:n]
	if h.err != nil || n > h.left() {
		h.fail("the file ends within a value of %d bytes", n)
		clear(to)
		return to
	}
	if _, err := io.ReadFull(h.r, to); err != nil {
		h.fail("%w", err)
		clear(to)
	}
	h.at += n
	return to
}

func (h *head) u32() uint32 { return binary.LittleEndian.Uint32(h.bytes(4)) }
func (h *head) u64() uint64 { return binary.LittleEndian.Uint64(h.bytes(8)) }

// text reads a string of at most most bytes.
func (h *head) text(most uint64) string {
	n := h.u64()
	switch {
	case h.err != nil:
		return ""
	case n > uint64(h.left()):
		h.fail("a string of %d bytes does not fit into the %d bytes left", n, h.left())
		return ""
	case n > most:
		h.fail("a string has %d bytes; at most %d are read", n, most)
		return ""
	}
	return string(h.bytes(int64(n)))
}

// Read reads the head of a file of size bytes. path is for errors.
func Read(r io.ReaderAt, size int64, path string) (*File, error) {
	h := &head{r: io.NewSectionReader(r, 0, size), size: size}
	f := &File{path: path, data: r, Metadata: Metadata{path: path}}
	h.read(f)
	if h.err != nil {
		return nil, fmt.Errorf("gguf: %s: %w", path, h.err)
	}
	return f, nil
}

func (h *head) read(f *File) {
	tensors, pairs := h.preamble()
	h.pairs(&f.Metadata, pairs)
	alignment := h.alignment(f.Metadata)
	h.tensors(f, tensors)
	if h.err == nil {
		h.err = place(f.Tensors, h.at, alignment, h.size)
	}
}

// preamble reads magic, version and counts.
func (h *head) preamble() (tensors, pairs uint64) {
	if magic := string(h.bytes(4)); h.err == nil && magic != "GGUF" {
		h.fail("the file begins with %q and not with GGUF; is it a GGUF file?", magic)
	}
	switch version := h.u32(); {
	case h.err != nil:
	case version&0xffff == 0 && version != 0:
		h.fail("the file is big-endian; convert it with gguf_convert_endian.py of llama.cpp")
	case version == 1:
		h.fail("the file has version 1, which is no longer used; download the model again")
	case version < 2 || version > 3:
		h.fail("the file has version %d; versions 2 and 3 are read", version)
	}
	tensors, pairs = h.u64(), h.u64()
	if tensors > uint64(h.left()/33+1) || tensors > maxTensors {
		h.fail("%d tensors do not fit into %d bytes, or are more than %d", tensors, h.left(), maxTensors)
	}
	if pairs > uint64(h.left()/13+1) || pairs > maxPairs {
		h.fail("%d metadata keys do not fit into %d bytes, or are more than %d", pairs, h.left(), maxPairs)
	}
	return tensors, pairs
}

// pairs reads the metadata.
func (h *head) pairs(m *Metadata, n uint64) {
	m.values = map[string]any{}
	for i := uint64(0); i < n && h.err == nil; i++ {
		key := h.text(maxKey)
		if _, twice := m.values[key]; h.err == nil && (twice || key == "") {
			h.fail("key %q of pair %d is there twice, or empty", key, i)
		}
		if value := h.value(key); h.err == nil {
			m.values[key] = value
		}
		if h.at > maxHead {
			h.fail("the metadata has more than %d bytes", maxHead)
		}
	}
}

// The types of metadata.
const (
	kindU8, kindI8, kindU16, kindI16, kindU32, kindI32, kindF32 = 0, 1, 2, 3, 4, 5, 6
	kindBool, kindString, kindArray, kindU64, kindI64, kindF64  = 7, 8, 9, 10, 11, 12
)

// width is the size of a metadata type's value; 0 for strings, arrays and unknown types.
func width(kind uint32) int64 {
	if kind > kindF64 {
		return 0
	}
	return [...]int64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}[kind]
}

// value reads one value: an int64, a uint64 above MaxInt64, a float64, a bool, a string or a list of one of these.
func (h *head) value(key string) any {
	switch kind := h.u32(); {
	case h.err != nil:
		return nil
	case kind == kindString:
		return h.text(maxText)
	case kind == kindArray:
		return h.array(key)
	case width(kind) > 0:
		return scalar(kind, h.bytes(width(kind)))
	default:
		h.fail("key %q has a value of the unknown type %d", key, kind)
		return nil
	}
}

// scalar decodes a number or a bool.
func scalar(kind uint32, b []byte) any {
	le := binary.LittleEndian
	switch kind {
	case kindU8:
		return int64(b[0])
	case kindI8:
		return int64(int8(b[0]))
	case kindU16:
		return int64(le.Uint16(b))
	case kindI16:
		return int64(int16(le.Uint16(b)))
	case kindU32:
		return int64(le.Uint32(b))
	case kindI32:
		return int64(int32(le.Uint32(b)))
	case kindF32:
		return float64(math.Float32frombits(le.Uint32(b)))
	case kindBool:
		return b[0] != 0
	case kindI64:
		return int64(le.Uint64(b))
	case kindF64:
		return math.Float64frombits(le.Uint64(b))
	}
	if v := le.Uint64(b); v > math.MaxInt64 {
		return v
	}
	return int64(le.Uint64(b))
}

// array reads a list.
func (h *head) array(key string) any {
	kind, n := h.u32(), h.u64()
	size := width(kind)
	if kind == kindString {
		size = 8 // at least
	}
	switch {
	case h.err != nil:
		return nil
	case size == 0:
		h.fail("key %q has a list of elements of type %d; lists of lists and unknown types are not read", key, kind)
		return nil
	case n > uint64(h.left()/size) || n > maxElements:
		h.fail("key %q has a list of %d elements, which do not fit into %d bytes, or are more than %d", key, n,
			h.left(), maxElements)
		return nil
	case kind == kindString:
		var list []string
		for i := uint64(0); i < n && h.err == nil; i++ {
			list = append(list, h.text(maxText))
		}
		return list
	}
	return numbers(kind, h.bytes(int64(n)*size), size)
}

// numbers decodes a list of numbers or bools: []int64, []float64 or []bool.
func numbers(kind uint32, raw []byte, size int64) any {
	var ints []int64
	var floats []float64
	var bools []bool
	for chunk := range slices.Chunk(raw, int(size)) {
		switch v := scalar(kind, chunk).(type) {
		case float64:
			floats = append(floats, v)
		case bool:
			bools = append(bools, v)
		case int64:
			ints = append(ints, v)
		case uint64: // above MaxInt64: no key has such numbers
			ints = append(ints, math.MaxInt64)
		}
	}
	switch kind {
	case kindF32, kindF64:
		return floats
	case kindBool:
		return bools
	}
	return ints
}

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
				t.offset,
				alignment)
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
