package tinker

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Tensor is a dense array of float32 or int64: exactly one of Float and Int is used. An empty Shape means one
// dimension.
type Tensor struct {
	Shape []int
	Float []float32
	Int   []int64
}

// Floats makes a one-dimensional float tensor, keeping v.
func Floats(v []float32) Tensor { return Tensor{Shape: []int{len(v)}, Float: v} }

// Ints makes a one-dimensional integer tensor, keeping v.
func Ints(v []int64) Tensor { return Tensor{Shape: []int{len(v)}, Int: v} }

// TokenInts widens tokens into a one-dimensional integer tensor.
func TokenInts(tokens []int32) Tensor {
	v := make([]int64, len(tokens))
	for i, t := range tokens {
		v[i] = int64(t)
	}
	return Ints(v)
}

// Len is the number of elements held.
func (t Tensor) Len() int { return len(t.Float) + len(t.Int) }

// Dims returns rows and columns of a tensor of one ([N] is N,1) or two dimensions; ok is false for others or when
// Shape and data disagree.
func (t Tensor) Dims() (rows, cols int, ok bool) {
	switch len(t.Shape) {
	case 0:
		return t.Len(), 1, true
	case 1:
		return t.Shape[0], 1, t.Shape[0] == t.Len()
	case 2:
		return t.Shape[0], t.Shape[1], t.Shape[0]*t.Shape[1] == t.Len()
	}
	return 0, 0, false
}

type tensorJSON struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  string `json:"data"` // base64 of little-endian values: bits survive, NaN too
}

// MarshalJSON keeps every bit.
func (t Tensor) MarshalJSON() ([]byte, error) {
	var raw []byte
	j := tensorJSON{DType: "float32", Shape: t.Shape}
	if t.Int != nil {
		j.DType = "int64"
		for _, v := range t.Int {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
		}
	} else {
		for _, v := range t.Float {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
	}
	j.Data = base64.StdEncoding.EncodeToString(raw)
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *Tensor) UnmarshalJSON(b []byte) error {
	var j tensorJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(j.Data)
	if err != nil {
		return fmt.Errorf("tinker: tensor data: %w", err)
	}
	*t = Tensor{Shape: j.Shape}
	switch {
	case j.DType == "float32" && len(raw)%4 == 0:
		t.Float = make([]float32, len(raw)/4)
		for i := range t.Float {
			t.Float[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
	case j.DType == "int64" && len(raw)%8 == 0:
		t.Int = make([]int64, len(raw)/8)
		for i := range t.Int {
			t.Int[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		}
	default:
		return fmt.Errorf("tinker: tensor of dtype %q with %d bytes of data", j.DType, len(raw))
	}
	return nil
}
