package algorithm

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// KL is a term that holds the weights near the reference model: coef * aggregate(estimate). The zero KL is none.
type KL struct {
	Coef     float64
	adaptive *adaptiveKL                                  // nil when Coef stays
	estimate func(lp, ref, old float64, hasOld bool) term // nil for none
}

// Active reports whether the term can be anything but 0, that is, whether reference log-probabilities are needed.
func (k KL) Active() bool { return k.estimate != nil && k.Coef != 0 }

// KLs is the table of KL estimates by the value of algorithm.kl_loss_fn and kl_penalty_fn. With d = lp-ref:
//
//	none          0
//	k1            d
//	k2            d*d/2
//	k3            exp(-d) - 1 + d; for d < -60, where that leaves float32, its tangent at -60
//	low_var_kl    k3 with d clamped to +-20 and the result to +-10
//	abs           |d|
//	corrected_k3  k3 * clamp(exp(lp-old), 0, 2), the ratio not detached
//
// k1 to k3 are Schulman's estimators (joschu.net/blog/kl-approx.html).
func KLs() map[string]func(Args) (KL, error) {
	return map[string]func(Args) (KL, error){
		"none":         func(args Args) (KL, error) { _, err := newKL(args, nil); return KL{}, err },
		"k1":           func(args Args) (KL, error) { return newKL(args, k1) },
		"k2":           func(args Args) (KL, error) { return newKL(args, k2) },
		"k3":           func(args Args) (KL, error) { return newKL(args, k3) },
		"low_var_kl":   func(args Args) (KL, error) { return newKL(args, lowVarKL) },
		"abs":          func(args Args) (KL, error) { return newKL(args, absKL) },
		"corrected_k3": func(args Args) (KL, error) { return newKL(args, correctedK3) },
	}
}

// adaptiveKL steers the coefficient so that the measured KL comes to a target (Ziegler et al., arXiv 1909.08593).
type adaptiveKL struct{ target, horizon float64 }

// Adapted returns the term with the coefficient for the next step, after a step of n experiences measured kl:
//
//	coef * (1 + clamp(kl/target - 1, -0.2, 0.2) * n/horizon)
//
// and the term itself when it is not adaptive.
func (k KL) Adapted(kl float64, n int) KL {
	if k.adaptive == nil {
		return k
	}
	off := min(max(kl/k.adaptive.target-1, -0.2), 0.2)
	k.Coef *= 1 + float64(off*float64(n)/k.adaptive.horizon)
	return k
}

// Adaptive reports whether Adapted changes the coefficient. Who trains must then keep Coef through a restart.
func (k KL) Adaptive() bool { return k.adaptive != nil }

// newKL reads the arguments that all estimates share.
func newKL(args Args, estimate func(lp, ref, old float64, hasOld bool) term) (KL, error) {
	r := arg.Read(args)
	k := KL{Coef: r.Float("kl_coef", 0.001), estimate: estimate}
	target, horizon := floatOrNil(r, "target_kl"), floatOrNil(r, "horizon")
	if !r.Bool("adaptive", false) {
		return k, r.Close()
	}
	if target == nil || horizon == nil {
		r.Fail(errors.New("adaptive is true, but target_kl or horizon is missing; give both, such as 0.1 and 10000"))
		return k, r.Close()
	}
	r.Require(*target > 0, "target_kl", *target, "greater than 0")
	r.Require(*horizon > 0, "horizon", *horizon, "greater than 0")
	k.adaptive = &adaptiveKL{*target, *horizon}
	return k, r.Close()
}

func k1(lp, ref, _ float64, _ bool) term { return term{lp - ref, 1} }

func k2(lp, ref, _ float64, _ bool) term {
	d := lp - ref
	return term{d * d / 2, d}
}

// farthestK3 is the smallest d at which k3 is the exponential: times a coefficient and summed, e^60 stays a float32.
const farthestK3 = -60

func k3(lp, ref, _ float64, _ bool) term {
	d := max(lp-ref, farthestK3)
	e := elementary.Expm1(-d)
	return term{e + d - float64(e*(lp-ref-d)), -e}
}

func lowVarKL(lp, ref, _ float64, _ bool) term {
	d := lp - ref
	if d > maxLogRatio || d < -maxLogRatio {
		d = min(max(d, -maxLogRatio), maxLogRatio)
		return term{min(k3(d, 0, 0, false).value, 10), 0}
	}
	x := k3(d, 0, 0, false)
	if x.value > 10 {
		return term{10, 0}
	}
	return x
}

func absKL(lp, ref, _ float64, _ bool) term {
	d := lp - ref
	switch {
	case d > 0:
		return term{d, 1}
	case d < 0:
		return term{-d, -1}
	}
	return term{}
}

func correctedK3(lp, ref, old float64, hasOld bool) term {
	k := k3(lp, ref, 0, false)
	if !hasOld {
		return k
	}
	ratio := elementary.Exp(lp - old)
	if ratio > 2 {
		return term{2 * k.value, 2 * k.slope}
	}
	return term{ratio * k.value, ratio * (k.value + k.slope)}
}
