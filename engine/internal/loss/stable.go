package loss

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// stable_reinforce is the REINFORCE variant of the newest SDK that stays stable when the sampling policy differs from
// the trained one: because it is older (asynchronous training) or because it is computed in other arithmetic. Upstream
// documents its name, its inputs (advantages, which may be nonzero on sampled positions only, and the provenance of
// every target), the sampler's records for it, and that it has "a small sampler KL term by default (kl_coeff=0.01)"
// (tinker-cookbook 0.6.1, CHANGELOG; types of the SDK 0.38). Its formula is not published. Here it consists of
// published parts:
//
//   - The importance weight is truncated, t = min(r, MaxRatio), and constant: Espeholt et al. 2018 (IMPALA,
//     arXiv:1802.01561, section 4.1), which is REINFORCE on policy. MaxRatio 2 is that of truncated importance sampling
//     for language models, whose sampler and trainer differ in their arithmetic (Yao et al. 2025, "Your efficient RL
//     framework secretly brings you off-policy RL training").
//   - The KL divergence from the sampler, KL(q ‖ p), is estimated from the sampled token by r − 1 − log r (Schulman
//     2020, "Approximating KL divergence", k3), which is unbiased however old the sample is, as the token was drawn
//     from q (at temperature 1). Above MaxRatio it continues as the tangent in log r, so that its gradient is t − 1.
//
// So the gradient of a token is never above MaxRatio·|A| + kl_coeff·(MaxRatio − 1), however far the policies are apart.

// DefaultKL is the kl_coeff of stable_reinforce unless the request gives one, the SDK's documented default.
const DefaultKL = 0.01

// MaxRatio limits the importance weight of stable_reinforce.
const MaxRatio = 2

// stable is the loss of element i and its derivative by logp. Positions that were not sampled have none.
func (l Loss) stable(d Datum, i int, logp float64) (loss, grad float64) {
	if d.Sampled[i] == 0 {
		return 0, 0
	}
	gap, a := logp-float64(d.Logprobs[i]), float64(d.Advantages[i])
	t, kl := float64(MaxRatio), 0.0
	if r := elementary.Exp(gap); r <= MaxRatio {
		t, kl = r, r-1-gap
	} else {
		kl = (MaxRatio - 1 - math.Ln2) + float64((MaxRatio-1)*(gap-math.Ln2))
	}
	loss, grad = float64(l.kl*kl), float64(l.kl*(t-1))
	if a != 0 {
		loss -= float64(t * logp * a)
		grad -= float64(t * a)
	}
	return loss, grad
}
