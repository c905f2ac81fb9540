package loss

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trinity_ppo is the loss of Trinity-RFT's Tinker trainer, computed by the server (model.tinker.server_loss_fn, main at
// 877840c5; the server's side is TuFT 0.2.2, tuft/loss_fn). A datum's loss is the mean over its response tokens of
//
//	A ≥ 0: −A·min(r, 1+clip_range)        A < 0: −A·clamp(r, 1−clip_range, clip_ratio_c)
//
// plus kl_coef·½(logp − ref)², and the loss of a batch is the sum over datums divided by num_total_datums: the datums
// of the optimizer step, however many requests it is sent in. Response tokens are those with a positive weight, or with
// a mask of 1 if the datum has a mask. logp − q is limited to ±maxGap.

// The settings of trinity_ppo unless the request gives them; num_total_datums has no default.
const (
	defaultClipRange = 0.2
	defaultDualClip  = 3
	defaultKLCoef    = 0.001
)

// maxGap is the largest difference of log-probabilities of which trinity_ppo takes the ratio.
const maxGap = 20

// trinitySettings are the settings of trinity_ppo.
type trinitySettings struct {
	clip, dual, kl, total float64
}

func (s *trinitySettings) known() map[string]*float64 {
	*s = trinitySettings{clip: defaultClipRange, dual: defaultDualClip, kl: defaultKLCoef}
	return map[string]*float64{"clip_range": &s.clip, "clip_ratio_c": &s.dual, "kl_coef": &s.kl,
		"num_total_datums": &s.total}
}

func (s trinitySettings) check() error {
	switch {
	case s.total < 1 || s.total != math.Trunc(s.total):
		return tinker.Userf("loss: num_total_datums of trinity_ppo is %v; it must be the number of datums of the "+
			"optimizer step", s.total)
	case s.clip >= 1:
		return tinker.Userf("loss: clip_range of trinity_ppo is %v; it must be below 1", s.clip)
	case s.dual <= 1:
		return tinker.Userf("loss: clip_ratio_c of trinity_ppo is %v; it must be above 1", s.dual)
	}
	return nil
}

// response reads the response tokens of the index-th datum, of which a mask has precedence over weights.
func (l Loss) response(index int, c *Datum, d tinker.Datum) error {
	if float64(index) >= l.trinity.total {
		return tinker.Userf("loss: datum %d of a request whose num_total_datums is %v; it must be the number of "+
			"datums of the optimizer step", index, l.trinity.total)
	}
	if t, ok := d.LossFnInputs[tinker.Mask]; ok {
		var err error
		if c.Weights, err = l.floats(index, tinker.Mask, t, ok, *c); err != nil {
			return err
		}
		for i, v := range c.Weights {
			if v != 0 && v != 1 {
				return tinker.Userf("loss: datum %d: mask[%d] is %v; it must be 0 or 1", index, i, v)
			}
		}
	}
	for _, w := range c.Weights {
		if w > 0 {
			c.tokens++
		}
	}
	return nil
}

// surrogate is the clipped loss of element i, its derivative by logp, and the ratio.
func (l Loss) surrogate(d Datum, i int, logp float64) (loss, grad, ratio float64) {
	gap, a := logp-float64(d.Logprobs[i]), float64(d.Advantages[i])
	r := elementary.Exp(min(max(gap, -maxGap), maxGap))
	low, high := 0.0, 1+l.trinity.clip
	if a < 0 {
		low, high = 1-l.trinity.clip, l.trinity.dual
	}
	clipped := min(max(r, low), high)
	if r == clipped && math.Abs(gap) <= maxGap {
		grad = -(a * r)
	}
	return -(a * clipped), grad, r
}

// trinityPPO is the loss of element i and its derivative by logp.
func (l Loss) trinityPPO(d Datum, i int, logp float64) (loss, grad float64) {
	if !(d.Weights[i] > 0) {
		return 0, 0
	}
	loss, grad, _ = l.surrogate(d, i, logp)
	if l.trinity.kl > 0 {
		gap := logp - float64(d.Reference[i])
		loss += float64(l.trinity.kl * 0.5 * gap * gap)
		grad += float64(l.trinity.kl * gap)
	}
	scale := float64(d.tokens) * l.trinity.total
	return loss / scale, grad / scale
}

// mute is Silent of trinity_ppo.
func (l Loss) mute(d Datum) bool {
	for i, w := range d.Weights {
		if w > 0 && (l.trinity.kl != 0 || d.Advantages[i] != 0) {
			return false
		}
	}
	return true
}

// Report adds what the loss says of a computed datum besides its value to a request's metrics, as sums: over requests
// they add up. Only trinity_ppo says something.
func (l Loss) Report(metrics map[string]float64, d Datum, logp []float32) {
	if l.name != tinker.TrinityPPO {
		return
	}
	add := func(name string, v float64) { metrics["trinity/"+name+":sum"] += v }
	add("response_tokens", float64(d.tokens))
	for _, name := range []string{"ratio_sum", "ratio_squared_sum", "clipped_tokens"} {
		add(name, 0)
	}
	for i, w := range d.Weights {
		if !(w > 0) {
			continue
		}
		_, _, r := l.surrogate(d, i, float64(logp[i]))
		add("ratio_sum", r)
		add("ratio_squared_sum", float64(r*r))
		if r < 1-l.trinity.clip || r > 1+l.trinity.clip {
			add("clipped_tokens", 1)
		}
		if d.Reference != nil {
			gap := float64(logp[i]) - float64(d.Reference[i])
			add("kl_sum", float64(0.5*gap*gap))
		}
	}
}
