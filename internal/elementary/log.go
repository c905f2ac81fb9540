package elementary

import "math"

// Log is the natural logarithm: x = m·2^e with m in [√½, √2), ln m = 2 artanh t = 2(t + t³/3 + t⁵/5 + …) with t =
// (m-1)/(m+1), |t| < 0.172.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	m, e := math.Frexp(x) // m in [0.5,1)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	t := (m - 1) / (m + 1)
	q := float64(t * t)
	sum := 1.0 / 21
	for _, term := range [...]float64{1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1} {
		sum = float64(sum*q) + term
	}
	return float64(float64(e)*math.Ln2) + float64(2*float64(t*sum))
}

// Log1p is ln(1+x), accurate for small x too: W. Kahan's x·ln u/(u-1) with u = 1+x rounded, in which the error of u
// cancels.
func Log1p(x float64) float64 {
	u := 1 + x
	switch d := u - 1; {
	case d == 0:
		return x
	case math.IsInf(u, 1):
		return u
	default:
		return float64(x*Log(u)) / d
	}
}

// Pow is x^y for a positive finite x and moderate exponents: the error is Exp's error times y·ln x.
func Pow(x, y float64) float64 { return Exp(float64(y * Log(x))) }
