package optim

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Dimuon is the state of the SDK's second optimizer: the momentum of every LoRA matrix, and the steps done.
//
// The SDK (types of 0.29.1 and 0.38.0) documents this much: momentum is a running average with coefficient beta1; the
// step is a matrix sign of the momentum with a preconditioner for rows and columns that damping smooths; the learning
// rate applies to a direction whose Frobenius norm is √rank, times a correction relative to rank 32 with an exponent,
// the same for all LoRA matrices; there is no weight decay. The formula as a whole is not published. Here the
// preconditioned direction is LoRA-Muon's (Cesista, Simal, Crowson and Biderman 2026, arXiv:2606.12921):
// steepest descent of the product B·A in the spectral norm. For a pair A [r,in], B [out,r] with momenta M and N
//
//	P = (BᵀB + damping·I)^−½      Q = (AAᵀ + damping·I)^−½      r × r, of the weights before the step
//	D = P·msign(P·M)              E = msign(N·Q)·Q
//	A ← A − lr·c·√r·D/‖D‖         B ← B − lr·c·√r·E/‖E‖         c = (32/r)^rank_lr_correction_exponent
//
// where msign(U·Σ·Vᵀ) = U·Vᵀ (over the singular values above 10⁻⁶ of the largest) is computed exactly rather than by a
// number of iterations, and ‖·‖ is the Frobenius norm. The direction does not depend on the momentum's scale, so it
// needs no correction of the first steps. A momentum of zeros moves nothing.
type Dimuon struct {
	M    [][]float32
	Step int64
}

// Pair is a LoRA adapter of one matrix: the indices of A [Rank,In] and B [Out,Rank] among the parameters.
type Pair struct {
	A, B          int
	Rank, In, Out int
}

// MaxDimuonRank limits the rank: a step computes the eigenvectors of matrices of this size.
const MaxDimuonRank = 256

// NewDimuon returns the state before the first step for tensors of these lengths.
func NewDimuon(lengths []int) *Dimuon {
	d := &Dimuon{M: make([][]float32, len(lengths))}
	for i, n := range lengths {
		d.M[i] = make([]float32, n)
	}
	return d
}

// CheckDimuon refuses invalid settings, as User errors. A grad_clip_norm of 0 or less is off.
func CheckDimuon(p tinker.DimuonParams) error {
	for _, c := range []struct {
		name   string
		v      float64
		ok     bool
		remedy string
	}{
		{"learning_rate", p.LearningRate, p.LearningRate >= 0 && p.LearningRate <= math.MaxFloat32,
			"a number of 0 or more"},
		{"beta1", p.Beta1, p.Beta1 >= 0 && p.Beta1 < 1, "a number of 0 or more and below 1"},
		{"grad_clip_norm", p.GradClipNorm, !math.IsNaN(p.GradClipNorm) && !math.IsInf(p.GradClipNorm, 0),
			"a finite number"},
		{"damping", p.Damping, p.Damping > 0 && p.Damping <= math.MaxFloat32, "a positive number"},
		{"rank_lr_correction_exponent", p.RankExponent, math.Abs(p.RankExponent) <= 8, "a number from -8 to 8"},
	} {
		if !c.ok {
			return tinker.Userf("optim: %s of dimuon is %v; it must be %s", c.name, c.v, c.remedy)
		}
	}
	return nil
}

// Update does one step in place on params, as AdamW's does. pairs must cover all of them.
func (d *Dimuon) Update(params, grads [][]float32, pairs []Pair, p tinker.DimuonParams, par Parallel) (float64, error) {
	if err := CheckDimuon(p); err != nil {
		return 0, err
	}
	norm := Norm(grads, par)
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return norm, fmt.Errorf("optim: the gradient is not finite (norm %v)", norm)
	}
	clip := 1.0
	if p.GradClipNorm > 0 {
		clip = min(1, p.GradClipNorm/(norm+1e-6))
	}
	next := make([]pairStep, len(pairs))
	par(len(pairs), func(i int) { next[i].compute(d.M, params, grads, pairs[i], p, float32(clip)) })
	for i := range next {
		if !next[i].finite() {
			return norm, fmt.Errorf("optim: step %d would make parameter tensors %d and %d overflow; lower "+
				"learning_rate (%v)", d.Step+1, pairs[i].A, pairs[i].B, p.LearningRate)
		}
	}
	for i, x := range pairs {
		copy(params[x.A], next[i].a)
		copy(params[x.B], next[i].b)
		copy(d.M[x.A], next[i].ma)
		copy(d.M[x.B], next[i].mb)
	}
	d.Step++
	return norm, nil
}

// pairStep is the result of a step for a pair: new parameters and momenta.
type pairStep struct{ a, b, ma, mb []float32 }

func (s *pairStep) compute(m, params, grads [][]float32, x Pair, p tinker.DimuonParams, clip float32) {
	s.ma, s.mb = average(m[x.A], grads[x.A], p.Beta1, clip), average(m[x.B], grads[x.B], p.Beta1, clip)
	a, b := widen(params[x.A], x.Rank, x.In), widen(params[x.B], x.Out, x.Rank)
	left, right := whiten(b.transposed().gram(), p.Damping), whiten(a.gram(), p.Damping)
	size := p.LearningRate * elementary.Pow(32/float64(x.Rank), p.RankExponent)
	ma, mb := widen(s.ma, x.Rank, x.In), widen(s.mb, x.Out, x.Rank)
	s.a = moved(params[x.A], left.times(left.times(ma).sign()), size, x.Rank)
	s.b = moved(params[x.B], mb.times(right).sign().times(right), size, x.Rank)
}

// average is the momentum after a gradient.
func average(m, g []float32, beta float64, clip float32) []float32 {
	out, rest := make([]float32, len(m)), float32(1-beta)
	for i := range m {
		out[i] = m[i] + float32((float32(g[i]*clip)-m[i])*rest)
	}
	return out
}

// moved is w − size·√rank·d/‖d‖.
func moved(w []float32, d matrix, size float64, rank int) []float32 {
	out, norm := make([]float32, len(w)), d.norm()
	copy(out, w)
	if norm == 0 {
		return out
	}
	size *= math.Sqrt(float64(rank)) / norm
	for i := range out {
		out[i] -= float32(size * d.v[i])
	}
	return out
}

func (s *pairStep) finite() bool {
	for _, v := range [][]float32{s.a, s.b, s.ma, s.mb} {
		for _, x := range v {
			if !finite(x) {
				return false
			}
		}
	}
	return true
}
