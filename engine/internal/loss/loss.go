// Package loss computes the element-wise losses of the Tinker API and their gradients. All but
// trinity_ppo are sums over positions and datums, never means. logp is the model's log-probability (nats, temperature
// 1) of a position's target, q its log-probability when it was sampled, A the advantage, w the weight and
// r = exp(logp − q):
//
//	cross_entropy        −Σ w·logp                                       gradient by logp: −w
//	importance_sampling  −Σ r·A                                          −r·A
//	ppo                  −Σ min(r·A, clamp(r, low, high)·A)              −r·A where r·A is the smaller, else 0
//	cispo                −Σ stopgrad(clamp(r, low, high))·logp·A         −clamp(r, low, high)·A
//	dro                  −Σ (logp·A − ½·beta·(logp − q)²)                −(A − beta·(logp − q))
//	gspo                 −Σ min(s·A, clamp(s, low, high)·A)              −s·A where s·A is the smaller, else 0
//	stable_reinforce     −Σ stopgrad(t)·logp·A + kl_coeff·Σ D(r)         −t·A + kl_coeff·(t − 1)
//	trinity_ppo          Trinity-RFT's PPO, a mean of means              see trinity.go
//
// gspo is GSPO-token (Zheng et al. 2025, arXiv:2507.18071, section 4.3; the Tinker documentation, losses/gspo,
// gives the same): all positions of a datum carry one ratio s = exp(mean of logp − q over the positions that
// sequence_ratio_mask marks), each with the gradient of its own logp. stable_reinforce is described in stable.go.
//
// low and high (clip_low_threshold, clip_high_threshold) bound the ratio itself: 0.8 and 1.2 for ppo, 0 and 4 for
// cispo, and for gspo 0.9997 and 1.0004 (the paper's section 5.1) unless given. The default of beta is not documented
// upstream; here it is 0.05, the value of upstream's example.
//
// With the setting entropy_coef c, c·Σ m·H is subtracted from each loss, where H is the entropy of the model's
// distribution at a position and m the position's entropy_weights, 1 by default. The gradient by H is −c·m.
//
// The arithmetic is float64 with every product rounded before it is added, and the exponential is package
// elementary's, so the bits are the same on every machine.
package loss

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// DefaultBeta is the beta of dro unless the request gives one.
const DefaultBeta = 0.05

// Loss is one of the losses with its settings. It is a value, safe for concurrent use.
type Loss struct {
	name      string
	low, high float64
	beta      float64
	kl        float64
	trinity   trinitySettings

	entropic bool // entropies are requested
	entropy  float64
}

// New returns the loss of that name with a request's loss_fn_config. Unknown names and settings are User errors.
func New(name string, config map[string]float64) (Loss, error) {
	l := Loss{name: name}
	var known map[string]*float64
	switch name {
	case tinker.CrossEntropy, tinker.ImportanceSampling:
	case tinker.PPO:
		l.low, l.high = 0.8, 1.2
		known = map[string]*float64{"clip_low_threshold": &l.low, "clip_high_threshold": &l.high}
	case tinker.CISPO:
		l.low, l.high = 0, 4
		known = map[string]*float64{"clip_low_threshold": &l.low, "clip_high_threshold": &l.high}
	case tinker.DRO:
		l.beta = DefaultBeta
		known = map[string]*float64{"beta": &l.beta}
	case tinker.GSPO:
		l.low, l.high = 1-3e-4, 1+4e-4
		known = map[string]*float64{"clip_low_threshold": &l.low, "clip_high_threshold": &l.high}
	case tinker.StableReinforce:
		l.kl = DefaultKL
		known = map[string]*float64{"kl_coeff": &l.kl}
	case tinker.TrinityPPO:
		known = l.trinity.known()
	default:
		return Loss{}, tinker.Userf("loss: loss_fn %q is unknown; use %s", name, strings.Join(Names(), ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(config)) {
		if key == tinker.EntropyCoef {
			if l.entropic, l.entropy = true, config[key]; math.IsNaN(l.entropy) || math.IsInf(l.entropy, 0) {
				return Loss{}, tinker.Userf("loss: entropy_coef of %s is %v; it must be finite", name, l.entropy)
			}
			continue
		}
		field, ok := known[key]
		if !ok {
			return Loss{}, tinker.Userf("loss: loss_fn_config of %s has %q; it takes %s", name, key, list(known))
		}
		if v := config[key]; math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return Loss{}, tinker.Userf("loss: %s of %s is %v; it must be a finite number of 0 or more", key, name, v)
		}
		*field = config[key]
	}
	if l.low > l.high {
		return Loss{}, tinker.Userf("loss: clip_low_threshold %v of %s is above clip_high_threshold %v; both bound "+
			"the ratio itself, such as 0.8 and 1.2", l.low, name, l.high)
	}
	if name == tinker.TrinityPPO {
		return l, l.trinity.check()
	}
	return l, nil
}

// Names lists the losses.
func Names() []string {
	return []string{tinker.CrossEntropy, tinker.ImportanceSampling, tinker.PPO, tinker.CISPO, tinker.DRO,
		tinker.GSPO, tinker.StableReinforce, tinker.TrinityPPO}
}

// Name is the loss_fn.
func (l Loss) Name() string { return l.name }

// Prepare computes the part of d's loss that depends on all positions: the sequence ratio of gspo. logp holds the
// log-probabilities of all targets, [N,K]. Row and Entropy come after it.
func (l Loss) Prepare(d *Datum, logp []float32) {
	if l.name != tinker.GSPO {
		return
	}
	sum, n := 0.0, 0
	for i, m := range d.RatioMask {
		if m != 0 {
			sum += float64(logp[i]) - float64(d.Logprobs[i])
			n++
		}
	}
	d.ratio = elementary.Exp(sum / float64(n))
}

// Row is the loss of position pos of datum d. logp holds the K log-probabilities of its targets, and grad, unless nil,
// receives the derivative of the loss by each of them. After an overflow the result or the gradient is not finite.
func (l Loss) Row(d Datum, pos int, logp, grad []float32) float64 {
	sum := 0.0
	for k, p := range logp {
		v, g := l.element(d, pos*d.K+k, float64(p))
		sum += float64(v) // rounded: never fused with the product inside
		if grad != nil {
			grad[k] = float32(g)
		}
	}
	return sum
}

// Entropic reports whether the entropies were requested.
func (l Loss) Entropic() bool { return l.entropic }

// Entropy returns the term of the entropy h of position pos in the loss of datum d, and its derivative by h.
func (l Loss) Entropy(d Datum, pos int, h float32) (loss, grad float64) {
	w := l.entropy
	if d.EntropyWeights != nil {
		w *= float64(d.EntropyWeights[pos])
	}
	if w == 0 {
		return 0, 0
	}
	return -(w * float64(h)), -w
}

// Silent reports whether the loss has no derivative at any position of d, whatever the log-probabilities are.
func (l Loss) Silent(d Datum) bool {
	some := func(x float32) bool { return x != 0 }
	switch {
	case l.entropy != 0 && (d.EntropyWeights == nil || slices.ContainsFunc(d.EntropyWeights, some)):
		return false
	case l.name == tinker.CrossEntropy:
		return d.Weights != nil && !slices.ContainsFunc(d.Weights, some)
	case l.name == tinker.DRO && l.beta != 0:
		return false
	case l.name == tinker.StableReinforce && l.kl != 0:
		return !slices.ContainsFunc(d.Sampled, some)
	case l.name == tinker.TrinityPPO:
		return l.mute(d)
	}
	return !slices.ContainsFunc(d.Advantages, some)
}

// element is the loss of element i and its derivative by logp. A zero weight or advantage makes both zero, even if the
// ratio overflows.
func (l Loss) element(d Datum, i int, logp float64) (loss, grad float64) {
	if l.name == tinker.CrossEntropy {
		w := d.weight(i)
		if w == 0 {
			return 0, 0
		}
		return -(w * logp), -w
	}
	if l.name == tinker.TrinityPPO {
		return l.trinityPPO(d, i, logp)
	}
	q, a := float64(d.Logprobs[i]), float64(d.Advantages[i])
	if l.name == tinker.DRO {
		gap := logp - q
		return -(float64(logp*a) - float64(0.5*l.beta*gap*gap)), -(a - float64(l.beta*gap))
	}
	if l.name == tinker.StableReinforce {
		return l.stable(d, i, logp)
	}
	if a == 0 {
		return 0, 0
	}
	if l.name == tinker.GSPO {
		return clippedSurrogate(d.ratio, min(max(d.ratio, l.low), l.high), a)
	}
	r := elementary.Exp(logp - q)
	clipped := min(max(r, l.low), l.high)
	switch l.name {
	case tinker.CISPO:
		return -(clipped * logp * a), -(clipped * a)
	case tinker.PPO:
		return clippedSurrogate(r, clipped, a)
	}
	return -(r * a), -(r * a)
}

// clippedSurrogate is −min(r·a, clipped·a) and its derivative by the logarithm of r.
func clippedSurrogate(r, clipped, a float64) (loss, grad float64) {
	if clipped*a < r*a {
		return -(clipped * a), 0
	}
	return -(r * a), -(r * a)
}

func list(known map[string]*float64) string {
	if len(known) == 0 {
		return "no settings but " + tinker.EntropyCoef
	}
	return strings.Join(append(slices.Sorted(maps.Keys(known)), tinker.EntropyCoef), ", ")
}
