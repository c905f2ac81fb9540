package gguf

import "math"

// How scales are found when a block is written. The formats define what a block means and not how it is made: these
// functions look for the numbers whose values are nearest to the given ones in squared error. Great weights count more,
// as in llama.cpp. For fixed integers q the best scale is linear regression's; so several ways of rounding are tried,
// each with its best scale, and the best of them is kept.

// counts is how much each element of a part counts: its magnitude and the part's root mean square.
func counts(x []float32) []float64 {
	square, w := 0.0, make([]float64, len(x))
	for _, v := range x {
		square += float64(float64(v) * float64(v))
	}
	mean := math.Sqrt(square / float64(len(x)))
	for i, v := range x {
		w[i] = mean + math.Abs(float64(v))
	}
	return w
}

// sums are the sums of 1, x and x² over a part, weighted by counts.
type sums struct{ n, x, x2 float64 }

// fitAffine returns a scale and a minimum, both 0 or more, for x ≈ scale·q − least with integers q of 0 to most.
func fitAffine(x []float32, most int) (scale, least float64) {
	low, high := 0.0, float64(x[0])
	w, all := counts(x), sums{}
	for i, v := range x {
		v, w := float64(v), w[i]
		low, high = min(low, v), max(high, v)
		all.n += w
		all.x += float64(w * v)
		all.x2 += float64(w * float64(v*v))
	}
	if high <= low {
		return 0, -low
	}
	scale, least = (high-low)/float64(most), -low
	best := math.Inf(1)
	for step := -9; step <= 10; step++ {
		inverse := (float64(most) + float64(0.1*float64(step))) / (high - low)
		s, m, e := regress(x, w, inverse, -low, most, all)
		if e < best {
			scale, least, best = s, m, e
		}
	}
	for range 4 { // round with what was found, and find again
		if scale == 0 {
			break
		}
		s, m, e := regress(x, w, 1/scale, least, most, all)
		if !(e < best) {
			break
		}
		scale, least, best = s, m, e
	}
	return scale, least
}

// regress rounds (x+shift)·inverse to integers q of 0 to most, and returns the scale and minimum of 0 or more that are
// best for them, with the squared error.
func regress(x []float32, w []float64, inverse, shift float64, most int, all sums) (scale, least, err float64) {
	var q1, q2, qx float64 // sums of q, q², q·x
	for i, v := range x {
		q := float64(whole(float64((float64(v)+shift)*inverse), 0, most))
		wq := float64(w[i] * q)
		q1 += wq
		q2 += float64(wq * q)
		qx += float64(wq * float64(v))
	}
	if d := float64(all.n*q2) - float64(q1*q1); d > 0 {
		scale = (float64(all.n*qx) - float64(q1*all.x)) / d
		least = (float64(q1*qx) - float64(q2*all.x)) / d
	}
	if least <= 0 && q2 > 0 {
		scale, least = qx/q2, 0
	}
	if !(scale > 0) { // one value for all
		scale, least = 0, max(0, -all.x/all.n)
	}
	return scale, least, all.x2 + float64(float64(scale*scale)*q2) + float64(float64(all.n*least)*least) -
		float64(2*scale*qx) + float64(2*least*all.x) - float64(float64(2*scale*least)*q1)
}

// fitSigned returns a scale of either sign for x ≈ scale·q with integers q of -half to half-1. An element counts by
// its square.
func fitSigned(x []float32, half int) float64 {
	peak := 0.0
	for _, v := range x {
		if math.Abs(float64(v)) > math.Abs(peak) {
			peak = float64(v)
		}
	}
	if peak == 0 {
		return 0
	}
	scale, best := 0.0, 0.0
	for step := -12; step <= 12; step++ {
		way := float64(0.1 * float64(step))
		for _, end := range [2]float64{-float64(half) + way, float64(half) - 1 + way} { // where the peak goes
			if s, gain := slope(x, end/peak, half); gain > best {
				scale, best = s, gain
			}
		}
	}
	return scale
}

// slope rounds x·inverse to integers q of -half to half-1, and returns the scale that is best for them and what it
// takes off the squared error.
func slope(x []float32, inverse float64, half int) (scale, gain float64) {
	var q2, qx float64
	for _, v := range x {
		q := float64(whole(float64(float64(v)*inverse), -half, half-1))
		w := float64(float64(v) * float64(v))
		q2 += float64(w * float64(q*q))
		qx += float64(w * float64(q*float64(v)))
	}
	if q2 == 0 {
		return 0, 0
	}
	return qx / q2, float64(qx*qx) / q2
}

// whole is the integer nearest to x, halves upward, from low to high. It is low for a NaN.
func whole(x float64, low, high int) int {
	x += 0.5 - float64(low)
	switch {
	case x >= float64(high-low)+1:
		return high
	case x >= 0:
		return low + int(x)
	}
	return low
}
