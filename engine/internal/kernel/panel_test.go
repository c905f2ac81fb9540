package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"
)

func TestPanelsHoldTheMatrix(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, d := range [][2]int{{1, 1}, {31, 2}, {32, 33}, {33, 32}, {70, 65}, {64, 128}} {
			N, K := d[0], d[1]
			w, wt := numbers(random(uint64(N)), N*K, wild), Aligned(N*K)
			for n := range N {
				for k := range K {
					wt[k*N+n] = w[n*K+k]
				}
			}
			for _, bf16 := range []bool{false, true} {
				want, wantT := clone(w), clone(wt)
				if bf16 {
					s.RoundBF16(want, want)
					s.RoundBF16(wantT, wantT)
				}
				what := fmt.Sprintf("%dx%d bf16=%t ", N, K, bf16)
				p := s.Pack(w, N, K, bf16)
				equal(t, what+"Pack", unpacked(p), want)
				equal(t, what+"TransposePart", unpacked(s.TransposePart(&Transposed{}, p, 0, N, 0, K)), wantT)
			}
		}
	})
}

func unpacked(p *Panels) []float32 {
	out := make([]float32, p.N*p.K)
	p.Unpack(out)
	return out
}

// A file's elements are packed as their float values, at any alignment of the bytes.
func TestPackRowsOfEachElement(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		for _, d := range [][2]int{{35, 7}, {64, 64}, {50, 33}, {17, 100}} {
			N, K := d[0], d[1]
			w := numbers(random(1), N*K, wild)
			for _, e := range []Element{ElementF32, ElementBF16, ElementF16} {
				for shift := range 3 {
					rows, want := stored(w, e, K, shift)
					for _, bf16 := range []bool{false, true} {
						p := newPanels(N+3, K, bf16)
						s.PackRows(NewScratch(), p, 3, rows)
						first := s.Pack(append(make([]float32, 3*K), want...), N+3, K, bf16)
						equal(t, fmt.Sprintf("%dx%d element %d shift %d bf16=%t", N, K, e, shift, bf16), unpacked(p),
							unpacked(first))
					}
				}
			}
		}
	})
}

// stored returns w as elements of a file whose bytes begin at shift past an aligned place, and the values they have.
func stored(w []float32, e Element, K, shift int) (Rows, []float32) {
	data := make([]byte, shift, 4*len(w)+8)
	for i, v := range w {
		switch e {
		case ElementF32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		case ElementBF16:
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
		case ElementF16:
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16)^uint16(i*7919))
		}
	}
	r := Rows{Data: data[shift:], Element: e, K: K}
	want := make([]float32, len(w))
	r.Widen(want)
	return r, want
}

// The transposes of parts of a matrix are the parts of its transpose.
func TestTransposePart(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		const N, K = 150, 69
		var transposed Transposed
		w := numbers(random(3), N*K, wild)
		for _, bf16 := range []bool{false, true} {
			p := s.Pack(w, N, K, bf16)
			whole := unpacked(p) // [N,K]
			for _, r := range [][4]int{{0, 32, 0, K}, {32, 96, 0, 32}, {96, N, 32, K}, {0, N, 64, K}, {0, N, 0, K}} {
				var want []float32
				for k := r[2]; k < r[3]; k++ {
					for n := r[0]; n < r[1]; n++ {
						want = append(want, whole[n*K+k])
					}
				}
				got := s.TransposePart(&transposed, p, r[0], r[1], r[2], r[3])
				equal(t, fmt.Sprintf("part %v bf16=%t", r, bf16), unpacked(got), want)
				for i := range got.words() { // padding is zero, whatever the scratch held
					if word := rawWord(got, i); word != 0 && i/(got.steps()*NR)*NR+i%NR >= r[3]-r[2] {
						t.Fatalf("padding of part %v holds %x", r, word)
					}
				}
			}
		}
	})
}

func rawWord(p *Panels, i int) uint32 {
	if p.BF16 {
		return p.Pairs[i]
	}
	return math.Float32bits(p.F32[i])
}

// Panels in a Memory equal those on the heap, and the memory is released with them.
func TestMemory(t *testing.T) {
	s, w := reference(), numbers(random(5), 40*50, plain)
	m, err := NewMemory(PanelBytes(40, 50, true) + PanelBytes(40, 50, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, bf16 := range []bool{true, false} {
		p := m.Panels(40, 50, bf16)
		s.PackRows(NewScratch(), p, 0, FloatRows(w, 50))
		equal(t, "Memory", unpacked(p), unpacked(s.Pack(w, 40, 50, bf16)))
	}
	if _, err := NewMemory(1 << 60); err == nil || !strings.Contains(err.Error(), "MiB") {
		t.Errorf("an exbibyte: %v", err)
	}
}

func TestPanelsArePaddedWithZeros(t *testing.T) {
	s, w := reference(), numbers(random(1), 33*3, plain)
	for i, v := range s.Pack(w, 33, 3, false).F32 {
		if n := i/(3*NR)*NR + i%NR; n >= 33 && v != 0 {
			t.Errorf("column %d holds %v", n, v)
		}
	}
	for i, b := range s.Pack(w, 33, 3, true).Pairs {
		n, pair := i/(blockPairs*NR)*NR+i%NR, i/NR%blockPairs
		if (n >= 33 || pair > 1) && b != 0 || pair == 1 && b>>16 != 0 {
			t.Errorf("column %d pair %d holds %x", n, pair, b)
		}
	}
}

func TestAligned(t *testing.T) {
	for n := range 70 {
		x := Aligned(n)
		if len(x) != n || n > 0 && uintptr(unsafe.Pointer(&x[0]))%64 != 0 {
			t.Errorf("Aligned(%d): %d floats at %p", n, len(x), x)
		}
	}
}

// A product with a Prefix of W equals the product with a W that has only those columns.
func TestPrefix(t *testing.T) {
	forEachPath(t, func(t *testing.T, s *Set) {
		const M, N, K, k = 40, 70, 130, 64
		r := random(4)
		x, w := numbers(r, M*K, plain), numbers(r, N*K, plain)
		var few []float32
		for n := range N {
			few = append(few, w[n*K:n*K+k]...)
		}
		for _, bf16 := range []bool{false, true} {
			want, got := make([]float32, M*N), make([]float32, M*N)
			part, whole := s.Pack(few, N, k, bf16), s.Pack(w, N, K, bf16)
			prefix := whole.Prefix(k)
			for _, rows := range []int{1, M} {
				s.MatMul(NewScratch(), want, N, x, K, rows, part, 0, part.Count(), false)
				s.MatMul(NewScratch(), got, N, x, K, rows, &prefix, 0, prefix.Count(), false)
				equal(t, fmt.Sprintf("%d rows bf16=%t", rows, bf16), got, want)
			}
		}
	})
}
