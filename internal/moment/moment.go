// Package moment has means and deviations that are exact over equal numbers: their mean is the number itself and their
// deviation is 0, at any size. Summed and divided, eight times 0.1 has a deviation of 1e-17, so that a group without a
// signal looks as if it had one.
package moment

import "math"

// Equal reports whether all of x are one number; of fewer than two they are.
func Equal(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

// Mean is the sum of x in its order over their number, 0 of nothing.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	if Equal(x) {
		return x[0]
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Deviation is the root of the sum of squares of x around its mean m, over divisor: len(x) of a population, len(x)-1 of
// a sample.
func Deviation(x []float64, m float64, divisor int) float64 {
	sum := 0.0
	for _, v := range x {
		d := v - m
		sum += float64(d * d)
	}
	return math.Sqrt(sum / float64(max(1, divisor)))
}
