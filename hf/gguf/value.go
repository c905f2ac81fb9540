package gguf

import (
	"encoding/binary"
	"math"
	"slices"
)

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
	switch kind {
	case kindF32, kindF64:
		return float(kind, b)
	case kindBool:
		return b[0] != 0
	case kindU64:
		if v := binary.LittleEndian.Uint64(b); v > math.MaxInt64 {
			return v
		}
	}
	return integer(kind, b)
}

// integer decodes a whole number. No key has one above MaxInt64, and what is above becomes MaxInt64.
func integer(kind uint32, b []byte) int64 {
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
	case kindI64:
		return int64(le.Uint64(b))
	}
	return int64(min(le.Uint64(b), math.MaxInt64))
}

func float(kind uint32, b []byte) float64 {
	if kind == kindF32 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
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
	switch kind {
	case kindF32, kindF64:
		return decode(raw, size, func(b []byte) float64 { return float(kind, b) })
	case kindBool:
		return decode(raw, size, func(b []byte) bool { return b[0] != 0 })
	}
	return decode(raw, size, func(b []byte) int64 { return integer(kind, b) })
}

func decode[T any](raw []byte, size int64, one func([]byte) T) []T {
	list := make([]T, 0, int64(len(raw))/size)
	for b := range slices.Chunk(raw, int(size)) {
		list = append(list, one(b))
	}
	return list
}
