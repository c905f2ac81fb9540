// Package elementary holds exponentials, logarithms and trigonometric functions of float64 whose bits are the same on
// every machine. Package math uses assembly on some machines, and plain Go with fused sums on others. Here every
// product is rounded before it is added. Errors are a few units in the last place.
package elementary

import "math"

// Exp is e^x to within an ulp or two. Exp(0) is exactly 1, so the ratio of two probabilities is exactly 1 on
// policy. x is cut into n·ln 2 + r with |r| <= ln 2 / 2, and e^r is its Taylor series.
func Exp(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x > 709.782712893384:
		return math.Inf(1)
	case x < -745.2:
		return 0
	}
	const (
		ln2High = 6.93147180369123816490e-01 // ln 2 in two parts: n·ln2High is exact
		ln2Low  = 1.90821492927058770002e-10
	)
	n := math.RoundToEven(float64(x * math.Log2E))
	r := (x - float64(n*ln2High)) - float64(n*ln2Low)
	sum := 1.0
	for k := 14.0; k >= 1; k-- {
		sum = 1 + float64(r*sum)/k
	}
	return math.Ldexp(sum, int(n))
}

// Expm1 is e^x - 1, accurate for small x too: W. Kahan's (u-1)·x/ln u with u = e^x, in which the errors of u cancel.
func Expm1(x float64) float64 {
	u := Exp(x)
	switch d := u - 1; {
	case d == 0:
		return x
	case d == -1 || math.IsInf(u, 1) || math.IsNaN(u):
		return d
	default:
		return float64(d*x) / Log(u)
	}
}
