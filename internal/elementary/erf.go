package elementary

import "math"

// Erf is the error function, by the series 2/√π·e^(-x²)·(x + 2x³/3 + 4x⁵/15 + …), whose terms have one sign. From 6 on
// it is 1.
func Erf(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case math.Abs(x) >= 6:
		return math.Copysign(1, x)
	}
	q := float64(2 * float64(x*x))
	sum, term := x, x
	for n := 3.0; math.Abs(term) > math.Abs(sum)*0x1p-54; n += 2 {
		term = float64(term*q) / n
		sum += term
	}
	return float64(float64(sum*Exp(-float64(x*x))) * (2 / math.SqrtPi))
}
