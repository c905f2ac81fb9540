package loss

import "math"

// exp is e^x to within an ulp or two, the same bits on every machine (math.Exp differs between them). exp(0) is exactly 1, so
// the ratio is exactly 1 on policy. x is cut into n·ln 2 + r with |r| <= ln 2 / 2, and e^r is its Taylor series.
func exp(x float64) float64 {
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
