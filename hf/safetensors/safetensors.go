// Package safetensors reads and writes the safetensors format: eight bytes of little-endian header length, a JSON
// header that names each tensor's dtype, shape and byte range, then the bytes of the tensors without gaps. See
// https://github.com/huggingface/safetensors#format.
//
// Reading maps the file and trusts nothing: a header that is truncated, ambiguous, overlapping or of the wrong size is
// refused with an error that names the file and the tensor. Writing is atomic: a reader sees the old file or the new
// one.
package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/seed-d9ad8ee0/trinity/internal/float16"
)

// ErrFormat is the cause of every refusal of a file's content; ErrTruncated, which is an ErrFormat too, of those where
// the file ends before its header or header's tensors do.
var (
	ErrFormat    = errors.New("not a valid safetensors file")
	ErrTruncated = fmt.Errorf("%w: truncated", ErrFormat)
)

// DType is an element type by its name in the header.
type DType string

// The element types that Floats can widen.
const (
	F32  DType = "F32"
	BF16 DType = "BF16"
	F16  DType = "F16"
)

// Size returns the bytes of one element, 0 for a type the format does not know.
func (d DType) Size() int {
	switch d {
	case "F64", "I64", "U64", "C64":
		return 8
	case F32, "I32", "U32":
		return 4
	case BF16, F16, "I16", "U16":
		return 2
	case "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0":
		return 1
	}
	return 0
}

// Widens reports whether Floats can widen elements of this type.
func (d DType) Widens() bool { return d == F32 || d == BF16 || d == F16 }

// Tensor is a named array of little-endian elements in row-major order. One that comes from a File lies in the mapped
// file.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte
}

// Len returns the number of elements.
func (t Tensor) Len() int {
	if n := t.DType.Size(); n > 0 {
		return len(t.Data) / n
	}
	return 0
}

// Floats returns the elements as f32, exactly: F32 as it is, BF16 and F16 widened. Other types are an error.
func (t Tensor) Floats() ([]float32, error) {
	out := make([]float32, t.Len())
	switch t.DType {
	case F32:
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		}
	case BF16:
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Data[2*i:])) << 16)
		}
	case F16:
		for i := range out {
			out[i] = float16.FromHalf(binary.LittleEndian.Uint16(t.Data[2*i:]))
		}
	default:
		return nil, fmt.Errorf("safetensors: tensor %q has dtype %s; convert it to F32, BF16 or F16", t.Name, t.DType)
	}
	return out, nil
}

// Bits returns the elements of a two-byte tensor as they are stored, or nil for another size.
func (t Tensor) Bits() []uint16 {
	if t.DType.Size() != 2 {
		return nil
	}
	out := make([]uint16, t.Len())
	for i := range out {
		out[i] = binary.LittleEndian.Uint16(t.Data[2*i:])
	}
	return out
}

// FromF32 returns a tensor that holds f in four-byte floats.
func FromF32(name string, shape []int, f []float32) Tensor {
	data := make([]byte, 4*len(f))
	for i, v := range f {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return Tensor{Name: name, DType: F32, Shape: shape, Data: data}
}

// FromBF16 returns a tensor that holds f rounded to the nearest bf16, ties to even.
func FromBF16(name string, shape []int, f []float32) Tensor {
	data := make([]byte, 2*len(f))
	for i, v := range f {
		binary.LittleEndian.PutUint16(data[2*i:], float16.ToBF16(v))
	}
	return Tensor{Name: name, DType: BF16, Shape: shape, Data: data}
}

// FromFloats returns a tensor that holds f in elements of type d, rounded to nearest, ties to even. d is F32, BF16 or
// F16.
func FromFloats(name string, d DType, shape []int, f []float32) (Tensor, error) {
	switch d {
	case F32:
		return FromF32(name, shape, f), nil
	case BF16:
		return FromBF16(name, shape, f), nil
	case F16:
		data := make([]byte, 2*len(f))
		for i, v := range f {
			binary.LittleEndian.PutUint16(data[2*i:], float16.ToHalf(v))
		}
		return Tensor{Name: name, DType: F16, Shape: shape, Data: data}, nil
	}
	return Tensor{}, fmt.Errorf("safetensors: tensor %q: floats cannot be stored as %s; choose F32, BF16 or F16", name,
		d)
}

// File is an open safetensors file. Its tensors are valid until Close. It is safe for concurrent use.
type File struct {
	path  string
	data  []byte
	unmap func() error
	head  header
	index map[string]int
}

// Open maps the file at path and checks its whole header.
func Open(path string) (*File, error) {
	data, unmap, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	head, err := parse(data)
	if err != nil {
		err = errors.Join(fmt.Errorf("safetensors: %s: %w", path, err), unmap())
		return nil, err
	}
	f := &File{path: path, data: data, unmap: unmap, head: head, index: make(map[string]int, len(head.tensors))}
	for i, t := range head.tensors {
		f.index[t.Name] = i
	}
	return f, nil
}

// Close unmaps the file.
func (f *File) Close() error { return f.unmap() }

// Release frees the memory of the parts that were read. Reading them again reads the file again.
func (f *File) Release() { forget(f.data) }

// Path returns the path the file was opened by.
func (f *File) Path() string { return f.path }

// Metadata returns the free-form strings of the header.
func (f *File) Metadata() map[string]string { return f.head.metadata }

// Tensors returns all tensors in the order of their bytes.
func (f *File) Tensors() []Tensor { return f.head.tensors }

// Tensor returns the tensor called name. The error of a missing one is an fs.ErrNotExist.
func (f *File) Tensor(name string) (Tensor, error) {
	i, ok := f.index[name]
	if !ok {
		return Tensor{}, fmt.Errorf("safetensors: %s: tensor %q: %w", f.path, name, os.ErrNotExist)
	}
	return f.head.tensors[i], nil
}
