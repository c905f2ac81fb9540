package elementary

import "math"

// trigRange is the size of x above which the reduction by π/4 in three parts loses digits.
const trigRange = 1 << 29

// Sin is the sine of x, |x| < 2^29; NaN beyond.
func Sin(x float64) float64 {
	octant, z, ok := reduce(math.Abs(x))
	if !ok {
		return math.NaN()
	}
	y := sine(z)
	if octant%4 == 2 {
		y = cosine(z)
	}
	if (octant >= 4) != math.Signbit(x) {
		return -y
	}
	return y
}

// Cos is the cosine of x, |x| < 2^29; NaN beyond.
func Cos(x float64) float64 {
	octant, z, ok := reduce(math.Abs(x))
	if !ok {
		return math.NaN()
	}
	y := cosine(z)
	if octant%4 == 2 {
		y = sine(z)
	}
	if octant == 2 || octant == 4 {
		return -y
	}
	return y
}

// reduce cuts x >= 0 into an even number of octants, modulo 8, and z with |z| <= π/4 (Cephes 2.8, sin.c).
func reduce(x float64) (octant int, z float64, ok bool) {
	if !(x < trigRange) {
		return 0, 0, false
	}
	const ( // π/4 in parts; products with the first two are exact
		high   = 7.85398125648498535156e-1
		middle = 3.77489470793079817668e-8
		low    = 2.69515142907905952645e-15
	)
	n := int64(float64(x * (4 / math.Pi)))
	n += n & 1
	y := float64(n)
	return int(n & 7), ((x - float64(y*high)) - float64(y*middle)) - float64(y*low), true
}

// The polynomials come from Cephes 2.8, highest power first.
func sine(z float64) float64 {
	q := float64(z * z)
	p := polynomial(q, [6]float64{1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
		-1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1})
	return z + float64(float64(z*q)*p)
}

func cosine(z float64) float64 {
	q := float64(z * z)
	p := polynomial(q, [6]float64{-1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
		2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2})
	return 1 - float64(0.5*q) + float64(float64(q*q)*p)
}

func polynomial(x float64, c [6]float64) float64 {
	y := c[0]
	for _, v := range c[1:] {
		y = float64(y*x) + v
	}
	return y
}
