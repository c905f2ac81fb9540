// Package optim updates parameters: AdamW with decoupled weight decay (Loshchilov and Hutter, 2019) as
// torch.optim.AdamW computes it, Dimuon for LoRA matrices, and clipping by the global norm. States are float32, sums
// run in a fixed order, and every product is rounded before it is added, so a step gives the same bits on every machine
// and with any number of threads.
package optim

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// AdamW is the state of the optimizer: first and second moments, one slice per parameter tensor, and the steps done.
type AdamW struct {
	M, V [][]float32
	Step int64
}

// New returns the state before the first step for tensors of these lengths.
func New(lengths []int) *AdamW {
	a := &AdamW{M: make([][]float32, len(lengths)), V: make([][]float32, len(lengths))}
	for i, n := range lengths {
		a.M[i], a.V[i] = make([]float32, n), make([]float32, n)
	}
	return a
}

// Parallel runs f for every part of 0 … parts-1, in any order and on any goroutines, and returns when all are done.
type Parallel func(parts int, f func(part int))

// Check refuses invalid settings, as User errors.
func Check(p tinker.AdamParams) error {
	for _, c := range []struct {
		name      string
		v, lo, hi float64
	}{
		{"learning_rate", p.LearningRate, 0, math.MaxFloat32}, {"beta1", p.Beta1, 0, 1}, {"beta2", p.Beta2, 0, 1},
		{"eps", p.Eps, 0, math.MaxFloat32}, {"weight_decay", p.WeightDecay, 0, math.MaxFloat32},
		{"grad_clip_norm", p.GradClipNorm, 0, math.MaxFloat64},
	} {
		if !(c.v >= c.lo && c.v <= c.hi) || c.hi == 1 && c.v == 1 {
			return tinker.Userf("optim: %s is %v; it must be a number of 0 or more%s", c.name, c.v,
				map[bool]string{true: " and below 1"}[c.hi == 1])
		}
	}
	return nil
}

// Norm is the L2 norm of all gradients together, summed in float64 tensor by tensor in order.
func Norm(grads [][]float32, par Parallel) float64 {
	sums := make([]float64, len(grads))
	par(len(grads), func(i int) {
		sum := 0.0
		for _, g := range grads[i] {
			sum += float64(float64(g) * float64(g))
		}
		sums[i] = sum
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return math.Sqrt(total)
}

// Update runs one step in place on params. params and grads have one slice per tensor in the order of New; grads is
// only read. It returns the global norm of the gradient before clipping. A gradient or a result that is not finite is
// an error, and then nothing has changed.
func (a *AdamW) Update(params, grads [][]float32, p tinker.AdamParams, par Parallel) (norm float64, err error) {
	if err := Check(p); err != nil {
		return 0, err
	}
	norm = Norm(grads, par)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("optim: the gradient is not finite (norm %v)", norm)
	}
	u := newStep(p, a.Step+1, norm)
	cuts := pieces(params)
	bad := make([]bool, len(cuts))
	run := func(write bool) {
		par(len(cuts), func(i int) {
			c := cuts[i]
			bad[i] = !u.apply(params[c.tensor][c.from:c.to], a.M[c.tensor][c.from:c.to], a.V[c.tensor][c.from:c.to],
				grads[c.tensor][c.from:c.to], write)
		})
	}
	run(false)
	for i, b := range bad {
		if b {
			return norm, fmt.Errorf("optim: step %d would make parameter tensor %d overflow; lower learning_rate (%v)",
				a.Step+1, cuts[i].tensor, p.LearningRate)
		}
	}
	run(true)
	a.Step++
	return norm, nil
}

// piece is a part of a tensor that one goroutine updates.
type piece struct{ tensor, from, to int }

func pieces(params [][]float32) []piece {
	const size = 1 << 15
	var cuts []piece
	for t, p := range params {
		for from := 0; from < len(p); from += size {
			cuts = append(cuts, piece{t, from, min(from+size, len(p))})
		}
	}
	return cuts
}

// step holds one step's numbers as torch computes them: in float64, then rounded.
type step struct {
	clip, decay         float32
	beta2, rest1, rest2 float32
	size, root2, eps    float32
}

func newStep(p tinker.AdamParams, n int64, norm float64) step {
	clip := 1.0
	if p.GradClipNorm > 0 {
		clip = min(1, p.GradClipNorm/(norm+1e-6))
	}
	return step{
		clip: float32(clip), decay: float32(1 - float64(p.LearningRate*p.WeightDecay)),
		beta2: float32(p.Beta2), rest1: float32(1 - p.Beta1), rest2: float32(1 - p.Beta2),
		size: float32(p.LearningRate / (1 - power(p.Beta1, n))), root2: float32(math.Sqrt(1 - power(p.Beta2, n))),
		eps: float32(p.Eps),
	}
}

// apply computes, for each element,
//
//	w ← w·(1 − lr·wd);  m ← m + (g − m)·(1 − β1);  v ← v·β2 + g²·(1 − β2)
//	w ← w − lr/(1 − β1ⁿ) · m / (√v/√(1 − β2ⁿ) + ε)
//
// and stores it if write is set. It reports whether all of it is finite. An element whose gradient has always been
// zero does not change, whatever ε.
func (u step) apply(w, m, v, g []float32, write bool) bool {
	ok := true
	for i, gi := range g {
		gi = float32(gi * u.clip)
		mi := m[i] + float32((gi-m[i])*u.rest1)
		vi := float32(v[i]*u.beta2) + float32(float32(gi*gi)*u.rest2)
		wi := float32(w[i] * u.decay)
		if mi != 0 {
			wi -= float32(u.size * float32(mi/(float32(math.Sqrt(float64(vi)))/u.root2+u.eps)))
		}
		ok = ok && finite(wi) && finite(mi) && finite(vi)
		if write {
			w[i], m[i], v[i] = wi, mi, vi
		}
	}
	return ok
}

func finite(x float32) bool { return math.Float32bits(x)&0x7f800000 != 0x7f800000 }

// power is x to the n-th by squaring.
func power(x float64, n int64) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y *= x
		}
		x *= x
	}
	return y
}
