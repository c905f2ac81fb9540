package kernel

import (
	"math"
	"math/big"
	"testing"
)

// Every bf16 value, and the values around the tie between it and the next.
func TestBF16RoundsToNearestEven(t *testing.T) {
	for high := range uint32(1 << 16) {
		for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			f := math.Float32frombits(high<<16 | low)
			got := Float(BF16(f))
			switch {
			case f != f:
				if got == got {
					t.Fatalf("BF16(NaN %x) = %v", high<<16|low, got)
				}
			case high&0x7f80 == 0:
				if math.Float32bits(got) != high<<16&0x80000000 {
					t.Fatalf("BF16(%g) = %g, want a zero of the same sign", f, got)
				}
			case math.IsInf(float64(f), 0):
				if got != f {
					t.Fatalf("BF16(%v) = %v", f, got)
				}
			default:
				want, _ := new(big.Float).SetPrec(8).SetFloat64(float64(f)).Float64()
				if math.Abs(want) > math.MaxFloat32 {
					want = math.Inf(int(want))
				}
				if float64(got) != want && math.Abs(want) < 0x1p128 {
					t.Fatalf("BF16(%g) = %g, want %g", f, got, want)
				}
			}
		}
	}
}

func TestRoundBF16OfEveryPattern(t *testing.T) {
	forEachFast(t, func(t *testing.T, s *Set) {
		x := Aligned(1 << 16)
		for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			for i := range x {
				x[i] = math.Float32frombits(uint32(i)<<16 | low)
			}
			want := clone(x)
			reference().RoundBF16(want, x)
			s.RoundBF16(x, x)
			equal(t, "RoundBF16", x, want)
		}
	})
}
