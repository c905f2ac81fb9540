package kernel

import (
	"math"
	"slices"
	"testing"
)

// microOf is a matrix of random codes, and of exponents from least to most.
func microOf(t *testing.T, N, K int, least, most byte) (q *Micro, rows Rows) {
	t.Helper()
	rows = Rows{Data: make([]byte, ElementMXFP4.bytes(N*K)), Element: ElementMXFP4, K: K}
	for i, v := range noise(len(rows.Data), 5, 1) {
		b := byte(math.Float32bits(v) >> 3)
		if i%microBytes == 0 {
			b = least + byte(int(b)%(int(most)-int(least)+1))
		}
		rows.Data[i] = b
	}
	memory, err := NewMemory(MicroBytes(N, K))
	if err != nil {
		t.Fatal(err)
	}
	q = memory.Micro(N, K)
	q.Write(0, rows.Slice(0, N/2))
	q.Write(N/2, rows.Slice(N/2, N))
	return q, rows
}

// The codes are those of the specification, exponents are powers of two, and every part that is expanded has the bits
// of panels that the same rows are packed into.
func TestMicro(t *testing.T) {
	var one [17]byte
	for i := range 16 {
		one[1+i] = byte(2*i%16) | byte(2*i%16+1)<<4
	}
	for _, exponent := range []byte{0, 1, 2, 100, 127, 252, 254} {
		wide := make([]float32, 32)
		one[0] = exponent
		Rows{Data: one[:], Element: ElementMXFP4, K: 32}.Widen(wide)
		for i, got := range wide {
			want := []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}[i%8]
			want = float32(math.Ldexp(float64(want), int(exponent)-127))
			if i/8%2 == 1 {
				want = -want
			}
			if math.Float32bits(got) != math.Float32bits(want) {
				t.Errorf("2^%d, code %d is %v, want %v", int(exponent)-127, i%16, got, want)
			}
		}
	}
	for _, span := range [][2]byte{{110, 130}, {2, 252}, {0, 254}} {
		const N, K = 70, 96
		q, rows := microOf(t, N, K, span[0], span[1])
		s := definition(Blocked)
		want := newPanels(N, K, true)
		s.PackRows(NewScratch(), want, 0, rows)
		row := make([]float32, K)
		all := make([]float32, N*K)
		want.Unpack(all)
		for n := range N {
			if q.Row(row, n); !sameFloats(row, all[n*K:][:K]) {
				t.Fatalf("%v: row %d is %v, want %v", span, n, row, all[n*K:][:K])
			}
		}
		var to Transposed
		for _, part := range [][4]int{{0, N, 0, K}, {32, N, 32, 96}, {0, 64, 64, 96}} {
			got := q.Expand(&to, part[0], part[1], part[2], part[3])
			some := make([]float32, got.N*got.K)
			got.Unpack(some)
			for i := range some {
				if w := all[(part[0]+i/got.K)*K+part[2]+i%got.K]; !sameFloats(some[i:i+1], []float32{w}) {
					t.Fatalf("%v, part %v: element %d is %v, want %v", span, part, i, some[i], w)
				}
			}
			if part[3]-part[2] == K && !slices.Equal(got.Pairs, want.Pairs) {
				t.Errorf("%v: other panels", span)
			}
		}
	}
}

func sameFloats(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

func BenchmarkMicroExpand(b *testing.B) {
	const N, K = 128, 2880
	memory, err := NewMemory(MicroBytes(N, K))
	if err != nil {
		b.Fatal(err)
	}
	q := memory.Micro(N, K)
	for i := range q.data {
		q.data[i] = byte(100 + i%50)
	}
	var to Transposed
	b.SetBytes(N * K / 2)
	for b.Loop() {
		q.Expand(&to, 0, N, 0, K)
	}
	b.ReportMetric(float64(N*K)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gweights/s")
}
