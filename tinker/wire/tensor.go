package wire

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// maxDense limits the elements that the sparse tensors of one request have in dense form, so that a small message
// cannot fill the memory: 32 Mi elements.
const maxDense = 1 << 25

// csr is the message SparseCsr: values of the tensor's type, row and column indices int64.
type csr struct {
	values    []byte
	crow, col []int64
}

// appendTensor appends the fields of message Tensor.
func appendTensor(b []byte, t tinker.Tensor) []byte {
	data, dtype := writeFloats(make([]byte, 0, 4*len(t.Float)), t.Float), Float32
	if t.Int != nil {
		data, dtype = writeInts(make([]byte, 0, 8*len(t.Int)), t.Int), Int64
	}
	b = appendBytes(b, 1, data) // a oneof member is written even when it is empty
	b = appendVarint(b, 3, uint64(dtype))
	shape := make([]int64, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = int64(n)
	}
	return appendInt64s(b, 4, shape)
}

// tensorFields are the fields of message Tensor: dense elements or, if that is not nil, sparse ones.
type tensorFields struct {
	dense  []byte
	sparse *csr
	dtype  DType
	shape  []int64
}

func readTensorFields(b []byte) (t tensorFields, err error) {
	err = fields("Tensor", b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			t.dense, t.sparse = f.raw, nil
		case f.is(2, protowire.BytesType):
			t.dense, t.sparse = nil, &csr{}
			err = t.sparse.read(f.raw)
		case f.is(3, protowire.VarintType):
			t.dtype = DType(f.num)
		case f.id == 4:
			t.shape, err = int64s("Tensor.shape", t.shape, f)
		}
		return err
	})
	return t, err
}

// readTensor reads message Tensor. A problem with its contents is a User error; room is the rest of MaxDense.
func readTensor(b []byte, room *int) (tinker.Tensor, error) {
	f, err := readTensorFields(b)
	if err != nil {
		return tinker.Tensor{}, err
	}
	t, err := newShape(f.shape)
	if err != nil {
		return t, err
	}
	if f.dtype.size() == 0 {
		return t, tinker.Userf("dtype %d is not one of float32 (1), int64 (2), int32 (3), bfloat16 (4)", f.dtype)
	}
	if f.sparse != nil {
		return f.sparse.dense(t, f.dtype, room)
	}
	return fill(t, f.dense, f.dtype)
}

// maxRank is how many dimensions a tensor may have.
const maxRank = 64

// newShape checks a shape's numbers; their product must fit an int32.
func newShape(shape []int64) (tinker.Tensor, error) {
	t, product := tinker.Tensor{}, int64(1)
	if len(shape) > maxRank {
		return t, tinker.Userf("a shape has %d dimensions; at most %d are read", len(shape), maxRank)
	}
	for _, n := range shape {
		if n < 0 || n > math.MaxInt32 || product*max(1, n) > math.MaxInt32 {
			return t, tinker.Userf("shape %v is negative or too large", shape)
		}
		product *= max(1, n)
		t.Shape = append(t.Shape, int(n))
	}
	return t, nil
}

// elements is the product of a tensor's shape; ok is false without one.
func elements(shape []int) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		n *= d
	}
	return n, len(shape) > 0
}

// fill puts raw elements into t.
func fill(t tinker.Tensor, raw []byte, d DType) (tinker.Tensor, error) {
	if len(raw)%d.size() != 0 {
		return t, tinker.Userf("%d bytes of data are not a whole number of %d-byte elements", len(raw), d.size())
	}
	if n, ok := elements(t.Shape); ok && n != len(raw)/d.size() {
		return t, tinker.Userf("shape %v needs %d elements, there are %d", t.Shape, n, len(raw)/d.size())
	}
	switch d {
	case Float32, BFloat16:
		t.Float = readFloats(raw, d)
	default:
		t.Int = readInts(raw, d)
	}
	return t, nil
}

func (c *csr) read(b []byte) error {
	return fields("SparseCsr", b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			c.values = f.raw
		case f.is(2, protowire.BytesType):
			c.crow = readInts(f.raw, Int64)
		case f.is(3, protowire.BytesType):
			c.col = readInts(f.raw, Int64)
		}
		return nil
	})
}

// dense converts the sparse form; elements that are not listed are 0.
func (c *csr) dense(t tinker.Tensor, d DType, room *int) (tinker.Tensor, error) {
	n, _ := elements(t.Shape)
	if len(t.Shape) != 2 {
		return t, tinker.Userf("a sparse tensor has two dimensions, this one has shape %v", t.Shape)
	}
	if *room -= n; *room < 0 {
		return t, tinker.Userf("the sparse tensors have more than %d elements in dense form; send smaller batches",
			maxDense)
	}
	rows, cols := t.Shape[0], t.Shape[1]
	values, err := fill(tinker.Tensor{}, c.values, d)
	if err != nil {
		return t, err
	}
	if len(c.crow) != rows+1 || len(c.col) != values.Len() {
		return t, tinker.Userf("sparse tensor of shape %v with %d values has %d row and %d column indices", t.Shape,
			values.Len(), len(c.crow), len(c.col))
	}
	if c.crow[0] != 0 || c.crow[rows] != int64(len(c.col)) {
		return t, tinker.Userf("sparse tensor: row indices go from %d to %d, there are %d values", c.crow[0],
			c.crow[rows], len(c.col))
	}
	if values.Int != nil {
		t.Int = make([]int64, n)
	} else {
		t.Float = make([]float32, n)
	}
	for r := range rows {
		from, to := c.crow[r], c.crow[r+1]
		if from > to || to > int64(len(c.col)) {
			return t, tinker.Userf("sparse tensor: row %d has indices %d to %d", r, from, to)
		}
		for i := from; i < to; i++ {
			if c.col[i] < 0 || c.col[i] >= int64(cols) {
				return t, tinker.Userf("sparse tensor: column %d of row %d; there are %d columns", c.col[i], r, cols)
			}
			at := r*cols + int(c.col[i])
			if values.Int != nil {
				t.Int[at] = values.Int[i]
			} else {
				t.Float[at] = values.Float[i]
			}
		}
	}
	return t, nil
}

// about wraps a User error with its place; it returns other errors unchanged.
func about(err error, format string, args ...any) error {
	if err == nil || tinker.CategoryOf(err) != tinker.User {
		return err
	}
	return tinker.Userf("%s: %w", fmt.Sprintf(format, args...), err)
}
