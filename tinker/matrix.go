package tinker

// Matrix has two dimensions. Dense, Values are its cells row by row. Sparse (compressed rows), Values are the cells
// that Columns lists: row i has Values[Start[i]:Start[i+1]].
type Matrix[T int32 | float32] struct {
	Shape   [2]int  `json:"shape"`
	Values  []T     `json:"values"`
	Start   []int64 `json:"start,omitempty"`   // Shape[0]+1 numbers; nil is dense
	Columns []int64 `json:"columns,omitempty"` // one per value
}

// Row returns the stored cells of row i and the index in Values at which they begin. The matrix has passed Check.
func (m *Matrix[T]) Row(i int) (cells []T, first int) {
	if m.Start == nil {
		first = i * m.Shape[1]
		return m.Values[first : first+m.Shape[1]], first
	}
	first = int(m.Start[i])
	return m.Values[first:m.Start[i+1]], first
}

// Check returns a User error that names where values, shape and indices disagree. Its time is proportional to the
// stored values and indices, not to the shape.
func (m *Matrix[T]) Check() error {
	rows, cols := m.Shape[0], m.Shape[1]
	switch {
	case rows < 0 || cols < 0:
		return Userf("shape %v is negative", m.Shape)
	case m.Start == nil && (len(m.Columns) > 0 || cols > 0 && rows != len(m.Values)/cols || rows*cols != len(m.Values)):
		return Userf("shape %v does not go with %d values and %d columns", m.Shape, len(m.Values), len(m.Columns))
	case m.Start == nil:
		return nil
	case len(m.Start)-1 != rows || len(m.Columns) != len(m.Values):
		return Userf(
			"a sparse matrix of shape %v with %d values has %d row pointers and %d columns; it needs %d and %d",
			m.Shape,
			len(m.Values),
			len(m.Start),
			len(m.Columns),
			rows+1,
			len(m.Values),
		)
	case m.Start[0] != 0 || m.Start[rows] != int64(len(m.Values)):
		return Userf("sparse: row pointers go from %d to %d; there are %d values", m.Start[0], m.Start[rows],
			len(m.Values))
	}
	for i := range rows {
		if m.Start[i] > m.Start[i+1] || m.Start[i+1] > int64(len(m.Values)) {
			return Userf("sparse: the pointers of row %d are %d and %d; there are %d values", i, m.Start[i],
				m.Start[i+1], len(m.Values))
		}
	}
	for i, c := range m.Columns {
		if c < 0 || c >= int64(cols) {
			return Userf("sparse: value %d is in column %d; there are %d columns", i, c, cols)
		}
	}
	return nil
}
