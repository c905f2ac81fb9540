package optim

import (
	"math"
)

// matrix is [rows,cols] in float64, row by row. Every product is rounded before it is added.
type matrix struct {
	rows, cols int
	v          []float64
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float64, rows*cols)} }

func widen(v []float32, rows, cols int) matrix {
	m := newMatrix(rows, cols)
	for i, x := range v {
		m.v[i] = float64(x)
	}
	return m
}

func (m matrix) row(i int) []float64 { return m.v[i*m.cols : (i+1)*m.cols] }

func (m matrix) transposed() matrix {
	t := newMatrix(m.cols, m.rows)
	for i := range m.rows {
		for j, x := range m.row(i) {
			t.v[j*m.rows+i] = x
		}
	}
	return t
}

// times is m·n.
func (m matrix) times(n matrix) matrix {
	out := newMatrix(m.rows, n.cols)
	for i := range m.rows {
		to := out.row(i)
		for k, x := range m.row(i) {
			if x == 0 {
				continue
			}
			for j, y := range n.row(k) {
				to[j] += float64(x * y)
			}
		}
	}
	return out
}

// gram is m·mᵀ.
func (m matrix) gram() matrix {
	g := newMatrix(m.rows, m.rows)
	for i := range m.rows {
		for j := range i + 1 {
			sum := 0.0
			a, b := m.row(i), m.row(j)
			for k := range a {
				sum += float64(a[k] * b[k])
			}
			g.v[i*m.rows+j], g.v[j*m.rows+i] = sum, sum
		}
	}
	return g
}

// norm is the Frobenius norm. It scales by the largest element, so that squares neither underflow nor overflow.
func (m matrix) norm() float64 {
	top := 0.0
	for _, x := range m.v {
		top = max(top, math.Abs(x))
	}
	if top == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range m.v {
		sum += float64((x / top) * (x / top))
	}
	return top * math.Sqrt(sum)
}

// whiten is (s + damping·I)^−½ of a symmetric matrix without negative eigenvalues.
func whiten(s matrix, damping float64) matrix {
	return s.function(func(l, _ float64) float64 { return 1 / math.Sqrt(max(l, 0)+damping) })
}

// signFloor is the square of the smallest singular value, relative to the largest, that counts in a matrix sign.
const signFloor = 1e-12

// sign is U·Vᵀ of the singular value decomposition U·Σ·Vᵀ. It comes from the eigenvectors of the smaller Gram matrix.
func (m matrix) sign() matrix {
	top := 0.0
	for _, x := range m.v {
		top = max(top, math.Abs(x))
	}
	if top == 0 {
		return newMatrix(m.rows, m.cols)
	}
	unit := newMatrix(m.rows, m.cols)
	for i, x := range m.v {
		unit.v[i] = x / top
	}
	inverse := func(l, largest float64) float64 {
		if l <= signFloor*largest {
			return 0
		}
		return 1 / math.Sqrt(l)
	}
	if m.rows <= m.cols {
		return unit.gram().function(inverse).times(unit)
	}
	return unit.times(unit.transposed().gram().function(inverse))
}

// function is Σ f(λ, λmax)·v·vᵀ over the eigenvalues and eigenvectors of a symmetric matrix.
func (m matrix) function(f func(l, largest float64) float64) matrix {
	values, vectors := m.eigen()
	largest := 0.0
	for _, l := range values {
		largest = max(largest, l)
	}
	scaled := newMatrix(m.rows, m.rows)
	for i, l := range values {
		x := f(l, largest)
		for j, v := range vectors.row(i) {
			scaled.v[i*m.rows+j] = float64(x * v)
		}
	}
	return vectors.transposed().times(scaled)
}

// sweeps limits the passes of eigen, which converges quadratically, in about ten.
const sweeps = 60

// eigen returns the eigenvalues of a symmetric matrix and its eigenvectors, as rows, by Jacobi's cyclic rotations
// (Golub and Van Loan, Matrix Computations, 4th edition, section 8.5).
func (m matrix) eigen() (values []float64, vectors matrix) {
	n := m.rows
	a := matrix{n, n, append([]float64(nil), m.v...)}
	vectors = newMatrix(n, n)
	for i := range n {
		vectors.v[i*n+i] = 1
	}
	tiny := 0.0
	for i := range n {
		tiny = max(tiny, 1e-16*math.Abs(a.v[i*n+i]))
	}
	for range sweeps {
		rotated := false
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotated = a.rotate(vectors, p, q, tiny) || rotated
			}
		}
		if !rotated {
			break
		}
	}
	for i := range n {
		values = append(values, a.v[i*n+i])
	}
	return values, vectors
}

// rotate makes element p,q of the symmetric matrix zero, unless it is tiny, and rotates the vectors with it.
func (m matrix) rotate(vectors matrix, p, q int, tiny float64) bool {
	n := m.rows
	x, y, off := m.v[p*n+p], m.v[q*n+q], m.v[p*n+q]
	if math.Abs(off) <= tiny {
		return false
	}
	theta := (y - x) / (2 * off)
	t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := t * c
	for k := range n { // columns p and q
		u, w := m.v[k*n+p], m.v[k*n+q]
		m.v[k*n+p], m.v[k*n+q] = float64(c*u)-float64(s*w), float64(s*u)+float64(c*w)
	}
	rotateRows(m.row(p), m.row(q), c, s)
	rotateRows(vectors.row(p), vectors.row(q), c, s)
	m.v[p*n+q], m.v[q*n+p] = 0, 0
	return true
}

func rotateRows(p, q []float64, c, s float64) {
	for k, u := range p {
		w := q[k]
		p[k], q[k] = float64(c*u)-float64(s*w), float64(s*u)+float64(c*w)
	}
}
