package kernel

import (
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// Path names a family of kernels.
type Path uint8

// String returns the name of the path as it is printed in logs.
func (p Path) String() string {
	switch p {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	case AVX512BF16:
		return "avx512-bf16"
	case AMX:
		return "amx"
	case NEON:
		return "neon"
	case NEONBF16:
		return "neon-bf16"
	}
	return fmt.Sprintf("path(%d)", uint8(p))
}

// only, set by the linker's -X, names the best path that Detect returns: make test KERNELS=avx2 runs the tests as on a
// processor without more.
var only string

// Detect returns the best path of this processor.
func Detect() Path {
	p := detect()
	if only == "" {
		return p
	}
	most, err := ParsePath(only)
	if err != nil {
		panic(err)
	}
	return min(p, most)
}

// ParsePath returns the path of that name.
func ParsePath(name string) (Path, error) {
	var names []string
	for p := Portable; p <= LastPath; p++ {
		if p.String() == name {
			return p, nil
		}
		names = append(names, p.String())
	}
	return 0, fmt.Errorf("kernel %q is unknown; use one of %s", name, strings.Join(names, ", "))
}

const (
	// NR is the number of columns of a panel.
	NR = 32
	// blockPairs is the number of pairs of k in a block of order Blocked. bf16 panels are filled up to it with zeros.
	blockPairs = 16
	// PageLen is the number of positions of a page of keys and values.
	PageLen = 32
	// lanes is the width of the vector reductions.
	lanes = 16
	// lseBlock is the number of columns LogSumExp reduces at once.
	lseBlock = 4096
)

// Set is one path's kernels. It is immutable and safe for concurrent use.
type Set struct {
	path   Path
	order  Order
	ops    ops
	packer inputPacker // nil if the path reads unpacked rows
}

// ops is the operations of a path; portable defines their results. Lengths are checked by the methods of Set.
type ops interface {
	matMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool)
	matMulRows(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, K int, w *Pieces)
	matMulColumns(sc *Scratch, out []float32, ldo int, x []float32, ldx, M, N int, w *Pieces)
	gradW(sc *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int)

	dot(x, y []float32) float32
	max(x []float32) float32
	exp(dst, src []float32, sub, a float32) float32 // dst = a*exp(src-sub); the lane sum of dst
	expSum(src []float32, sub float32) float32      // the lane sum of exp(src-sub)
	scaleMul(dst, x, w []float32, a float32)        // dst = (x*a)*w
	siluMul(dst, gate, up []float32)
	siluMulBackward(dgate, dup, dout, gate, up []float32)
	add(dst, x []float32)
	scale(dst []float32, a float32)
	axpy(dst []float32, a float32, x []float32)
	mul(dst, x, y []float32)
	roundBF16(dst, src []float32)
	rotate(y, x, table []float32, s float32) // the first half of x with the second

	// int16 rows for Quads, and the products of whole blocks; see ints.go
	toInts(dst []int16, x []float32) (scale float32)
	sumInts(sc *Scratch, out []float32, ldo int, x *Ints, m0, m1 int, w *Quads, p0, p1 int)
	widenQuads(dst, src []uint32)
	unpacker

	// bf16 as little-endian halves; dst has room for a multiple of 16
	narrow(dst []byte, src []float32)
	// dst[w*32+r] = word w of row r; rows are ld bytes apart
	packWords(dst []uint32, src []byte, ld, rows, words int, bits bool)
	// Panels of 32 columns, step words apart: dst[k*32+c] = column c of rows 2k and 2k+1 as bf16; a row that does not
	// exist is zero, and so are columns from cols on.
	pairRows(dst []uint32, step int, src []float32, ld, rows, cols int)
	// whole blocks of 16 rows; those of dst are step words apart, and what lies ahead words behind src is read next
	transposePairs(dst, src []uint32, blocks, step, ahead int)
}

// unpacker unpacks whole groups of Quads in 4 bits, see nibbles.go.
type unpacker interface {
	unpackQuads(dst, src, groups []uint32)
}

// New returns the kernels of path p that multiply in order o, or an error if this processor or the path lacks them.
func New(p Path, o Order) (*Set, error) {
	if p > Detect() {
		return nil, fmt.Errorf("kernel: path %v is not offered by this processor; the best it has is %v", p, Detect())
	}
	if !p.offers(o) {
		return nil, fmt.Errorf("kernel: path %v does not multiply in order %v; use the other order, or path %v", p, o,
			AVX512)
	}
	if p == Portable {
		return definition(o), nil
	}
	return fast(p, o), nil
}

// fast returns the set of a path that is not Portable.
func fast(p Path, o Order) *Set {
	s := &Set{path: p, order: o, ops: fastOps(p, o)}
	s.packer, _ = s.ops.(inputPacker)
	return s
}

// definition returns the portable set, which defines the results of order o.
func definition(o Order) *Set { return &Set{path: Portable, order: o, ops: portable{o}} }

// Path returns the path the set was made for, Order the order its bf16 products add in.
func (s *Set) Path() Path   { return s.path }
func (s *Set) Order() Order { return s.order }

// RowBlock returns the best number of rows to compute together: enough to justify reading the weights, and few enough
// that their data stays in a core's caches.
func (s *Set) RowBlock() int {
	if s.path == AMX {
		return 256
	}
	return 112
}

// PacksInput reports whether rows are packed once for bf16 products, on any number of workers.
func (s *Set) PacksInput() bool { return s.packer != nil }

// MatMul computes out = x·Wᵀ for the columns of panels [p0,p1):
//
//	out[m,n] = (acc ? out[m,n] : 0) folded with x[m,k]*w[n,k], k upward
//
// x is [M,K] with row stride ldx, out has row stride ldo. For bf16 panels x is
// rounded to bf16 on the way. Columns from w.N on are never written.
func (s *Set) MatMul(sc *Scratch, out []float32, ldo int, x []float32, ldx, M int, w *Panels, p0, p1 int, acc bool) {
	if M <= 0 || p0 >= p1 {
		return
	}
	if w.K > 0 {
		_ = x[(M-1)*ldx+w.K-1]
	}
	_ = out[(M-1)*ldo+min(p1*NR, w.N)-1]
	s.ops.matMul(sc, out, ldo, x, ldx, M, w, p0, p1, acc)
	runtime.KeepAlive(w)
}

// GradW folds a batch of rows into the gradient of a weight:
//
//	out[n,k] continues with dy[t,n]*x[t,k] for t = 0 … T-1, n in [n0,n1), k < K
//
// with one fused multiply-add per step, so cutting the rows into several calls
// changes nothing. dy is [T,·] with row stride ldy, x is [T,K] with row stride
// ldx, out is [·,K] with row stride ldo.
func (s *Set) GradW(sc *Scratch, out []float32, ldo int, dy []float32, ldy int, x []float32, ldx, T, n0, n1, K int) {
	if T <= 0 || n0 >= n1 || K <= 0 {
		return
	}
	_, _, _ = out[(n1-1)*ldo+K-1], dy[(T-1)*ldy+n1-1], x[(T-1)*ldx+K-1]
	s.ops.gradW(sc, out, ldo, dy, ldy, x, ldx, T, n0, n1, K)
}

// Dot returns the sum of x[i]*y[i] by 16 lanes of fused multiply-adds. y is at
// least as long as x.
func (s *Set) Dot(x, y []float32) float32 { return s.ops.dot(x, y[:len(x)]) }

// SumSq returns Dot(x, x).
func (s *Set) SumSq(x []float32) float32 { return s.ops.dot(x, x) }

// Max returns the largest element, -Inf for none. NaN is ignored and a zero is positive.
func (s *Set) Max(x []float32) float32 { return s.ops.max(x) }

// ExpSum sets dst to exp(src-sub) and returns the lane sum. dst may be src.
// exp(-Inf) is 0; the relative error is at most 2 units in the last place.
func (s *Set) ExpSum(dst, src []float32, sub float32) float32 {
	return s.ops.exp(dst[:len(src)], src, sub, 1)
}

// Exp sets dst to exp(src). dst may be src.
func (s *Set) Exp(dst, src []float32) { s.ops.exp(dst[:len(src)], src, 0, 1) }

// RMSNorm sets dst to (x*inv)*w and returns inv = 1/sqrt(mean(x²)+eps).
func (s *Set) RMSNorm(dst, x, w []float32, eps float32) (inv float32) {
	mean := s.ops.dot(x, x) / float32(len(x))
	inv = 1 / float32(math.Sqrt(float64(mean+eps)))
	s.ops.scaleMul(dst[:len(x)], x, w[:len(x)], inv)
	return inv
}

// SiLUMul sets dst to silu(gate)*up, silu(g) = g/(1+exp(-g)). dst may be gate or up.
func (s *Set) SiLUMul(dst, gate, up []float32) {
	n := len(dst)
	s.ops.siluMul(dst, gate[:n], up[:n])
}

// SiLUMulBackward sets dgate and dup to the gradients of silu(gate)*up under
// dout. An output may be one of the inputs.
func (s *Set) SiLUMulBackward(dgate, dup, dout, gate, up []float32) {
	n := len(dout)
	s.ops.siluMulBackward(dgate[:n], dup[:n], dout, gate[:n], up[:n])
}

// Add adds x to dst.
func (s *Set) Add(dst, x []float32) { s.ops.add(dst, x[:len(dst)]) }

// Scale multiplies dst by a.
func (s *Set) Scale(dst []float32, a float32) { s.ops.scale(dst, a) }

// AXPY adds a*x to dst, fused.
func (s *Set) AXPY(dst []float32, a float32, x []float32) { s.ops.axpy(dst, a, x[:len(dst)]) }

// Mul sets dst to x*y.
func (s *Set) Mul(dst, x, y []float32) { s.ops.mul(dst, x[:len(dst)], y[:len(dst)]) }

// RoundBF16 sets dst to src rounded to bf16, widened again. dst may be src.
func (s *Set) RoundBF16(dst, src []float32) { s.ops.roundBF16(dst[:len(src)], src) }

// Rotate rotates the pairs (x[i], x[i+n]) of x [2n] by angles whose cosines are table[i] and whose sines are
// table[i+n], times s, into y: s = 1 and s = -1 rotates forth and back.
//
//	y[i], y[i+n] = x[i]*cos - x[i+n]*sin*s, x[i+n]*cos + x[i]*sin*s
//
// y may be x.
func (s *Set) Rotate(y, x, table []float32, sign float32) {
	s.ops.rotate(y[:len(x)], x, table[:len(x)], sign)
}

// LogSumExp returns log(sum(exp(row))). Blocks of 4096 columns are reduced to
// (max, sum) and combined in order.
func (s *Set) LogSumExp(row []float32) float32 {
	top, sum := float32(math.Inf(-1)), float32(0)
	for len(row) > 0 {
		block := row[:min(lseBlock, len(row))]
		row = row[len(block):]
		m := s.ops.max(block)
		if math.IsInf(float64(m), -1) {
			continue
		}
		part := s.ops.expSum(block, m)
		if m > top {
			sum = float32(sum*exp32(top-m)) + part
			top = m
		} else {
			sum += float32(part * exp32(m-top))
		}
	}
	if sum == 0 {
		return top
	}
	return float32(float64(top) + elementary.Log(float64(sum)))
}

// SoftmaxGrad sets dst to a*exp(row-lse): a times the softmax of row whose
// LogSumExp is lse. dst may be row.
func (s *Set) SoftmaxGrad(dst, row []float32, a, lse float32) {
	s.ops.exp(dst[:len(row)], row, lse, a)
}
