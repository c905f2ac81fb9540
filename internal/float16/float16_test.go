package float16

import (
	"math"
	"testing"
)

// Every half that is no NaN is its own rounding, and the middle of two rounds to the even one.
func TestToHalf(t *testing.T) {
	for bits := range uint16(0x7c00) {
		x := FromHalf(bits)
		if got := ToHalf(x); got != bits {
			t.Fatalf("%v is %04x, want %04x", x, got, bits)
		}
		if got := ToHalf(-x); got != bits|0x8000 {
			t.Fatalf("%v is %04x, want %04x", -x, got, bits|0x8000)
		}
		next := bits + 1
		middle := float32((float64(x) + float64(FromHalf(next))) / 2)
		if next == 0x7c00 {
			middle = 65520
		}
		if got, want := ToHalf(middle), bits+bits&1; got != want {
			t.Fatalf("%v, between %04x and %04x, is %04x, want %04x", middle, bits, next, got, want)
		}
		if got := ToHalf(math.Nextafter32(middle, 0)); got != bits {
			t.Fatalf("below the middle of %04x and %04x: %04x", bits, next, got)
		}
	}
	for x, want := range map[float32]uint16{float32(math.Inf(1)): 0x7c00, float32(math.Inf(-1)): 0xfc00, 1e30: 0x7c00,
		1e-30: 0} {
		if got := ToHalf(x); got != want {
			t.Errorf("%v is %04x, want %04x", x, got, want)
		}
	}
	if nan := ToHalf(float32(math.NaN())); nan&0x7c00 != 0x7c00 || nan&0x3ff == 0 {
		t.Errorf("a NaN is %04x", nan)
	}
}

// Every half widens and narrows to itself, and what lies between two halves goes to the nearer, a tie to the even one.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		f := FromHalf(uint16(h))
		if f != f {
			continue
		}
		if got := ToHalf(f); got != uint16(h) {
			t.Fatalf("%#04x widens to %v, which narrows to %#04x", h, f, got)
		}
		if h&0x7fff >= 0x7bff {
			continue
		}
		next := FromHalf(uint16(h + 1))
		tie := float32((float64(f) + float64(next)) / 2)
		for _, tt := range []struct {
			f    float32
			want int
		}{{tie, h + h&1}, {math.Nextafter32(tie, f), h}, {math.Nextafter32(tie, next), h + 1}} {
			if got := ToHalf(tt.f); got != uint16(tt.want) {
				t.Fatalf("%v between %#04x and the next: %#04x, want %#04x", tt.f, h, got, tt.want)
			}
		}
	}
}
