package executor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// The encoding of numbers: counts and other small ones are unsigned varints in their shortest form, signed ones zigzag,
// floats their bits in little-endian order. So a value has one encoding, and no bit of a float is lost.

// writer appends values.
type writer struct{ b []byte }

func (w *writer) uint(v uint64)  { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)    { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) count(n int)    { w.uint(uint64(n)) }
func (w *writer) raw(b []byte)   { w.b = append(w.b, b...) }
func (w *writer) text(s string)  { w.count(len(s)); w.b = append(w.b, s...) }
func (w *writer) word(v uint64)  { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) real(v float64) { w.word(math.Float64bits(v)) }

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// ints appends a list of tokens or other numbers.
func ints[T int | int32 | int64](w *writer, list []T) {
	w.count(len(list))
	for _, v := range list {
		w.int(int64(v))
	}
}

func (w *writer) floats(list []float32) {
	w.count(len(list))
	w.b = slices.Grow(w.b, 4*len(list))
	for _, v := range list {
		w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(v))
	}
}

// reader reads values. After the first error all further ones are zero and empty; end returns it. A count is checked
// against the bytes that are left before anything is allocated.
type reader struct {
	b     []byte
	err   error
	brief bool // the values of gradients are left out
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.b = nil
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || n > 1 && r.b[n-1] == 0 { // the second: not the shortest form
		r.fail("a number is cut off or malformed")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	u := r.uint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

// small reads a number between 0 and most.
func (r *reader) small(most int, what string) int {
	v := r.uint()
	if v > uint64(most) {
		r.fail("%s is %d; at most %d", what, v, most)
		return 0
	}
	return int(v)
}

// count reads a number of elements that take at least size bytes each.
func (r *reader) count(size int, what string) int {
	v := r.uint()
	if v > uint64(len(r.b)/size) {
		r.fail("%d %s in %d bytes", v, what, len(r.b))
		return 0
	}
	return int(v)
}

func (r *reader) bytes(n int, what string) []byte {
	if n < 0 || n > len(r.b) {
		r.fail("%s of %d bytes, %d are left", what, n, len(r.b))
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text(what string) string { return string(r.bytes(r.count(1, what), what)) }

func (r *reader) word() uint64 {
	b := r.bytes(8, "a number")
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (r *reader) real() float64 { return math.Float64frombits(r.word()) }

func (r *reader) bool() bool { return r.small(1, "a flag") == 1 }

// tokens reads a list of int32.
func (r *reader) tokens(what string) []int32 {
	n := r.count(1, what)
	if n == 0 {
		return nil
	}
	list := make([]int32, n)
	for i := range list {
		v := r.int()
		if v != int64(int32(v)) {
			r.fail("%s: %d is not a token", what, v)
			return nil
		}
		list[i] = int32(v)
	}
	return list
}

// longs reads a list of int64.
func (r *reader) longs(what string) []int64 {
	n := r.count(1, what)
	list := make([]int64, n)
	for i := range list {
		list[i] = r.int()
	}
	return list
}

func (r *reader) floats(what string) []float32 {
	n := r.count(4, what)
	if n == 0 {
		return nil
	}
	b := r.bytes(4*n, what)
	list := make([]float32, n)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

// end returns the first error; bytes that are left are one.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		return errors.New("bytes follow the end")
	}
	return r.err
}
