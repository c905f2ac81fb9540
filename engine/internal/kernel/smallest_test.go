package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"
)

// smallest is the smallest normal number, 2^-126.
const smallest = 0x1p-126

// smallestCase continues acc with the products x[k]*w[k] of two pairs, and its results in both orders.
type smallestCase struct {
	name                string
	acc                 float32
	x, w                [4]float32
	sequential, blocked float32
}

// smallestCases are steps whose inputs, products or sums are near the smallest normal number. A result is taken to zero
// if it is too small once it is rounded to 24 bits, not before.
func smallestCases() []smallestCase {
	minus := float32(math.Copysign(0, -1))
	one := func(name string, acc, x, w, sequential, blocked float32) smallestCase {
		return smallestCase{name, acc, [4]float32{2: x}, [4]float32{2: w}, sequential, blocked}
	}
	return []smallestCase{
		one("the smallest normal number", 0, 0x1p-63, 0x1p-63, smallest, smallest),
		one("half of it", 0, 0x1p-63, 0x1p-64, 0, 0),
		one("half of it, negative", 0, -0x1p-63, 0x1p-64, minus, 0),
		one("a subnormal sum is continued", -0x1p-130, 1, smallest, smallest, smallest),
		one("a subnormal sum stays", 0x1p-127, 0, 1, 0, 0),
		one("a subnormal x", 1, 0x1p-128, 0x1p127, 1, 1),
		one("a subnormal w", 1, 0x1p127, 0x1p-130, 1, 1),
		one("rounded up to the smallest", smallest, -0x1p-76, 0x1p-76, smallest, smallest),
		one("a tie rounded up to the smallest", smallest, -0x1p-76, 0x1p-75, smallest, smallest),
		one("rounded up to the smallest, negative", -smallest, 0x1p-76, 0x1p-76, -smallest, -smallest),
		one("just below the smallest", smallest, -0x1p-75, 0x1p-75, 0, smallest),
		one("just below the smallest, negative", -smallest, 0x1p-75, 0x1p-75, minus, -smallest),
		one("an exact zero", -smallest, 0x1p-63, 0x1p-63, 0, 0),
		one("too small to count", 1, 0x1p-70, 0x1p-70, 1, 1),
		{"products that nearly cancel", 0, [4]float32{0, 0, 0x1p-63, -0x1.8p-63},
			[4]float32{0, 0, 0x1p-63, 0x1p-63}, minus, 0},
		{"even products rounded up to the smallest", 0, [4]float32{0x1p-63, 0, -0x1p-76},
			[4]float32{0x1p-63, 0, 0x1p-76}, smallest, smallest},
		{"odd products rounded up to the smallest", 0, [4]float32{1: -0x1p-63, 3: 0x1p-76},
			[4]float32{1: 0x1p-63, 3: 0x1p-75}, -smallest, -smallest},
	}
}

// Products of bf16 at the smallest normal number, at each place of tiles of each height and in each block of a walk.
// The processor is left as it was: afterwards it computes subnormal numbers.
func TestBF16AtTheSmallestNormal(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, c := range smallestCases() {
			for M := 1; M <= 9; M++ {
				c.check(t, s, M, 1+M%3)
			}
			c.check(t, s, 8, 20) // more than the kernels walk at once
		}
	})
}

// check computes the case in row M-1, among ordinary numbers, with its pairs at the end of the last block and, for the
// definition to say, of the middle one.
func (c smallestCase) check(t *testing.T, s *Set, M, blocks int) {
	t.Helper()
	const N = 40
	K := 2 * blockPairs * blocks
	want := c.sequential
	if s.order == Blocked {
		want = c.blocked
	}
	for _, block := range []int{blocks / 2, blocks - 1} {
		r := random(uint64(M*blocks + 1))
		x, w, out := numbers(r, M*K, plain), numbers(r, N*K, plain), numbers(r, M*N, plain)
		m, n, k := M-1, M*5%N, 2*blockPairs*(block+1)-len(c.x)
		clear(x[m*K : m*K+K])
		clear(w[n*K : n*K+K])
		copy(x[m*K+k:], c.x[:])
		copy(w[n*K+k:], c.w[:])
		out[m*N+n] = c.acc
		expected := clone(out)
		p := s.Pack(w, N, K, true)
		s.MatMul(NewScratch(), out, N, x, K, M, p, 0, p.Count(), true)
		what := fmt.Sprintf("%s: %d rows, block %d of %d", c.name, M, block, blocks)
		if got := math.Float32bits(multiplied(0x1p-100, 0x1p-40)); got != 1<<9 {
			t.Fatalf("%s: then the bits of 2^-100 * 2^-40 are %x, want %x", what, got, 1<<9)
		}
		definition(s.order).MatMul(NewScratch(), expected, N, x, K, M, p, 0, p.Count(), true)
		equal(t, what, out, expected)
		if block == blocks-1 {
			equal(t, what+", by hand", out[m*N+n:][:1], []float32{want})
		}
	}
}

//go:noinline
func multiplied(x, y float32) float32 { return x * y }

// Products of float32 keep subnormal numbers.
func TestFloat32KeepsSubnormals(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for M := 1; M <= 9; M++ {
			const N, K = 33, 5
			x, w, out := make([]float32, M*K), make([]float32, N*K), make([]float32, M*N)
			x[(M-1)*K+4], w[32*K+4], out[M*N-1] = 0x1p-70, 0x1p-70, 0x1p-149
			p := s.Pack(w, N, K, false)
			s.MatMul(NewScratch(), out, N, x, K, M, p, 0, p.Count(), true)
			if want := float32(0x1p-140 + 0x1p-149); out[M*N-1] != want {
				t.Errorf("%d rows: %g, want %g", M, out[M*N-1], want)
			}
		}
	})
}
