package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// RMSNorm computes y = x*inv*w for each row of x [M,D], inv = 1/sqrt(mean(x²)+eps), and stores the inv [M]. It reports
// whether all inv are positive, which fails only if x has a NaN or overflows.
func RMSNorm(k *kernel.Set, y, x Rows, w []float32, eps float32, inv []float32) (finite bool) {
	finite = true
	for m := range x.Len() {
		inv[m] = k.RMSNorm(y.Row(m), x.Row(m), w, eps)
		finite = finite && inv[m] > 0
	}
	return finite
}

// RMSNormBackward computes one row's dx [D] from dy:
//
//	dx = inv*g - x*(inv³/D)*sum(g*x), g = dy*w
//
// dx may be dy.
func RMSNormBackward(k *kernel.Set, dx, dy, x, w []float32, inv float32) {
	k.Mul(dx, dy, w)
	s := k.Dot(dx, x)
	k.Scale(dx, inv)
	c := float32(inv * inv)
	c = float32(c * inv)
	k.AXPY(dx, -float32(c*s)/float32(len(x)), x)
}

// RMSNormGrad continues dw [D] with one row's dy*x*inv. tmp [D] is overwritten.
func RMSNormGrad(k *kernel.Set, dw, dy, x []float32, inv float32, tmp []float32) {
	k.Mul(tmp, dy, x)
	k.AXPY(dw, inv, tmp)
}
