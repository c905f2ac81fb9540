package wire

import (
	"encoding/json"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// JSONTensor is a tensor as JSON numbers, row by row; with indices it is sparse.
type JSONTensor struct {
	Data  []Number `json:"data"`
	DType string   `json:"dtype"`
	Shape []int64  `json:"shape,omitempty"`
	CRow  []int64  `json:"sparse_crow_indices,omitempty"`
	Col   []int64  `json:"sparse_col_indices,omitempty"`
}

// Number is a JSON number; null is NaN.
type Number float64

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// Targets reads a tensor of token ids [rows, K], dense or sparse, and keeps a sparse one sparse. Errors are User
// errors.
func (t JSONTensor) Targets() (*tinker.Matrix[int32], error) {
	if t.DType != "int64" {
		return nil, tinker.Userf("dtype is %q; token ids are int64", t.DType)
	}
	if len(t.Shape) != 2 {
		return nil, tinker.Userf("shape is %v; it must be [len(prompt) - 1, K]", t.Shape)
	}
	shape, err := newShape(t.Shape)
	if err != nil {
		return nil, err
	}
	m := &tinker.Matrix[int32]{
		Shape:   [2]int(shape.Shape),
		Values:  make([]int32, len(t.Data)),
		Start:   t.CRow,
		Columns: t.Col,
	}
	for i, x := range t.Data {
		id := int32(max(-1, min(float64(x), math.MaxInt32)))
		if Number(id) != x {
			return nil, tinker.Userf("element %d is %v; it must be a token id, or -1 for none", i, float64(x))
		}
		m.Values[i] = id
	}
	return m, m.Check()
}

// FromTargets is the inverse of Targets.
func FromTargets(m *tinker.Matrix[int32]) *JSONTensor {
	if m == nil {
		return nil
	}
	t := &JSONTensor{
		Data:  make([]Number, len(m.Values)),
		DType: "int64",
		Shape: []int64{int64(m.Shape[0]), int64(m.Shape[1])},
		CRow:  m.Start,
		Col:   m.Columns,
	}
	for i, v := range m.Values {
		t.Data[i] = Number(v)
	}
	return t
}

// appendMatrix appends the fields of message Tensor, dense or sparse.
func appendMatrix(b []byte, m *tinker.Matrix[float32]) []byte {
	values := writeFloats(nil, m.Values)
	if m.Start == nil {
		b = appendBytes(b, 1, values)
	} else {
		s := appendBytes(nil, 1, values)
		s = appendBytes(s, 2, writeInts(nil, m.Start))
		b = appendBytes(b, 2, appendBytes(s, 3, writeInts(nil, m.Columns)))
	}
	b = appendVarint(b, 3, uint64(Float32))
	return appendInt64s(b, 4, []int64{int64(m.Shape[0]), int64(m.Shape[1])})
}

// readMatrix reads message Tensor as a matrix of floats and keeps a sparse one sparse.
func readMatrix(b []byte) (*tinker.Matrix[float32], error) {
	t, err := readTensorFields(b)
	if err != nil {
		return nil, err
	}
	m := &tinker.Matrix[float32]{Values: readFloats(t.dense, Float32)}
	if c := t.sparse; c != nil {
		m.Values, m.Start, m.Columns = readFloats(c.values, Float32), append([]int64{}, c.crow...), c.col
	}
	s, err := newShape(t.shape)
	if err != nil || len(t.shape) != 2 || t.dtype != Float32 {
		return nil, malformed("Tensor: a float32 matrix is expected", err)
	}
	m.Shape = [2]int(s.Shape)
	if err := m.Check(); err != nil {
		return nil, malformed("Tensor", err)
	}
	return m, nil
}

// appendAlternatives appends the fields of message PromptAltTokens, two tensors [rows-1, k]: the first position of a
// prompt has none.
func appendAlternatives(b []byte, rows [][]tinker.TokenLogprob) []byte {
	n, k := max(0, len(rows)-1), 0
	if n > 0 {
		k = len(rows[1])
	}
	tokens := tinker.Tensor{Shape: []int{n, k}, Int: make([]int64, 0, n*k)}
	logprobs := tinker.Tensor{Shape: []int{n, k}, Float: make([]float32, 0, n*k)}
	for _, row := range rows {
		for _, c := range row {
			tokens.Int, logprobs.Float = append(tokens.Int, int64(c.Token)), append(logprobs.Float, c.Logprob)
		}
	}
	b = appendBytes(b, 1, appendTensor(nil, tokens))
	return appendBytes(b, 2, appendTensor(nil, logprobs))
}

func readAlternatives(b []byte) ([][]tinker.TokenLogprob, error) {
	var tokens, logprobs tinker.Tensor
	room := maxDense
	err := fields("PromptAltTokens", b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			tokens, err = readTensor(f.raw, &room)
		case f.is(2, protowire.BytesType):
			logprobs, err = readTensor(f.raw, &room)
		}
		return err
	})
	n, k, ok := tokens.Dims()
	whole := ok && len(tokens.Int) == n*k && len(logprobs.Float) == n*k && slices.Equal(tokens.Shape, logprobs.Shape)
	if err != nil || !whole || n > 0 && k == 0 {
		return nil, malformed("PromptAltTokens", err)
	}
	rows := make([][]tinker.TokenLogprob, n+1)
	for i := range tokens.Int {
		rows[1+i/k] = append(rows[1+i/k], tinker.TokenLogprob{Token: int32(tokens.Int[i]), Logprob: logprobs.Float[i]})
	}
	return rows, nil
}
