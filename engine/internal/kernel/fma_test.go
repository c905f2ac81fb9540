package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA is x*y+z rounded once, by arbitrary precision.
func exactFMA(x, y, z float32) float32 {
	p := new(big.Float).SetPrec(2000).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
	f, _ := p.Add(p, big.NewFloat(float64(z))).Float32()
	return f
}

// anyBits draws a finite float32 of any exponent; near makes the exponent that of a
// product of two others likely.
func finite(r *rand.Rand, low, high uint32) float32 {
	return math.Float32frombits(r.Uint32()&0x807fffff | (low+r.Uint32N(high-low))<<23)
}

func TestFMAIsRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100000 {
		low, high := uint32(100), uint32(150)
		if i%4 == 0 {
			low, high = 0, 90 // the subnormal end
		}
		x, y, z := finite(r, low, high), finite(r, low, high), finite(r, low, high)
		switch i % 3 {
		case 0: // a product with few bits makes ties likely
			x = math.Float32frombits(math.Float32bits(x) & 0xfffff000)
			y = math.Float32frombits(math.Float32bits(y) & 0xfffff000)
		case 1: // cancellation
			z = -float32(x * y)
		}
		got, want := fma32(x, y, z), exactFMA(x, y, z)
		if got != want {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
}

func TestFMAOfSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, y, z, want float32 }{
		{inf, 1, 0, inf}, {inf, 1, -inf, nan}, {nan, 1, 1, nan}, {inf, 0, 1, nan},
		{math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32},
		{math.MaxFloat32, 2, 0, inf},
	} {
		if got := fma32(c.x, c.y, c.z); !sameBits(got, c.want) {
			t.Errorf("fma32(%v, %v, %v) = %v, want %v", c.x, c.y, c.z, got, c.want)
		}
	}
}
