package kernel

import "math"

// The exponential is 2^n·p(r) with x = n·ln2 + r, |r| ≤ ln2/2, and p a polynomial
// of degree 6 fitted to the least relative error (3e-9) with p(0) = p'(0) = 1.
const (
	expLow    = -104 // exp is 0 below
	expHigh   = 89   // exp is +Inf above
	log2e     = 1.44269504
	ln2High   = 0.693359375    // 9 bits, so that n·ln2High is exact
	ln2Low    = -2.12194440e-4 // ln2 - ln2High
	expCoeff2 = 0.49999994
	expCoeff3 = 0.16666521
	expCoeff4 = 0.041668393
	expCoeff5 = 0.008368745
	expCoeff6 = 0.0013814535
)

// exp32 is e^x. It is 0 for -Inf and NaN only for NaN.
func exp32(x float32) float32 {
	if x < expLow {
		x = expLow
	}
	if x > expHigh {
		x = expHigh
	}
	n := float32(math.RoundToEven(float64(float32(x * log2e))))
	r := fma32(-n, ln2High, x)
	r = fma32(-n, ln2Low, r)
	p := float32(expCoeff6)
	p = fma32(p, r, expCoeff5)
	p = fma32(p, r, expCoeff4)
	p = fma32(p, r, expCoeff3)
	p = fma32(p, r, expCoeff2)
	p = fma32(p, r, 1)
	p = fma32(p, r, 1)
	if n != n {
		return n
	}
	return float32(float64(p) * math.Float64frombits(uint64(1023+int(n))<<52))
}
