package algorithm

import (
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
)

// lateGroup scores each task's experiences by their sums of token rewards: the group functions as verl computes them.
// Every trained token gets the score.
type lateGroup struct {
	score func(scores []float64) []float64 // of one group, [N] to [N]
}

func (lateGroup) Needs() Needs { return Needs{Reward: true} }

func (a lateGroup) Assign(batch []Graded) (map[string]float64, error) {
	for _, at := range byTask(batch) {
		scores := make([]float64, len(at))
		for k, i := range at {
			scores[k] = batch[i].Score
		}
		for k, s := range a.score(scores) {
			setAdvantage(batch[at[k]].Experience, s)
		}
	}
	return nil, nil
}

// byTask lists the indices of each task's experiences, in order of first appearance.
func byTask(batch []Graded) [][]int {
	var groups [][]int
	group := make(map[string]int)
	for i := range batch {
		id := batch[i].EID.TID()
		k, seen := group[id]
		if !seen {
			k = len(groups)
			group[id] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	return groups
}

// newRLOO takes the mean of the other scores of the group off each (Ahmadian et al., arXiv 2402.14740); one alone is
// its score.
func newRLOO(args Args) (LateAdvantage, error) {
	return lateGroup{func(scores []float64) []float64 {
		n := float64(len(scores))
		if n == 1 {
			return scores
		}
		return shifted(scores, moment.Mean(scores), n/(n-1))
	}}, arg.Read(args).Close()
}

// newLateGRPO is grpo without its thresholds.
func newLateGRPO(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	epsilon := r.Float("epsilon", 1e-6)
	r.Require(epsilon > 0, "epsilon", epsilon, "greater than 0")
	return lateGroup{func(scores []float64) []float64 { return groupNormalised(scores, epsilon) }}, r.Close()
}

// groupNormalised is (score - mean) / (deviation + epsilon); one alone has mean 0 and deviation 1.
func groupNormalised(scores []float64, epsilon float64) []float64 {
	m, std := 0.0, 1.0
	if len(scores) > 1 {
		m = moment.Mean(scores)
		std = stdDev(scores, m)
	}
	return shifted(scores, m, 1/(std+epsilon))
}

func newLateOPMD(args Args) (LateAdvantage, error) { return aboveBaseline(newOPMD(args)) }

func newLateAsymRE(args Args) (LateAdvantage, error) { return aboveBaseline(newAsymRE(args)) }

// aboveBaseline is how far scores are above the baseline of an advantage that has one.
func aboveBaseline(a Advantage, err error) (LateAdvantage, error) {
	if err != nil {
		return nil, err
	}
	baseline := a.(interface{ baseline([]float64) float64 }).baseline
	return lateGroup{func(scores []float64) []float64 { return shifted(scores, baseline(scores), 1) }}, nil
}

// shifted is (x-m)*scale.
func shifted(x []float64, m, scale float64) []float64 {
	out := slices.Clone(x)
	for i := range out {
		out[i] = (x[i] - m) * scale
	}
	return out
}

// distill is the log-probability that a teacher gives to each sampled token above the sampler's own: the policy
// gradient of the reverse KL divergence to the teacher.
type distill struct{ coef float64 }

func newDistill(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	return distill{r.Float("kl_coef", 1)}, r.Close()
}

func (distill) Needs() Needs { return Needs{Old: true, Teacher: true} }

// Assign is A = coef*(teacher - old), 0 outside the mask. distill/reverse_kl is the mean of old - teacher over the
// trained tokens, kl/ its sum over a sequence.
func (a distill) Assign(batch []Graded) (map[string]float64, error) {
	sum, n, sums := 0.0, 0, make([]float64, len(batch))
	for i := range batch {
		each := func(t int) float64 { return float64(batch[i].Teacher[t]) - float64(batch[i].Logprobs[t]) }
		sums[i] = -batch[i].setEach(a.coef, each)
		sum, n = sum+sums[i], n+count(batch[i].ActionMask)
	}
	m := sequenceMetrics("kl", sums, batch)
	m["distill/reverse_kl"] = sum / float64(max(1, n))
	return m, nil
}

// sequenceMetrics are, as upstream has them, <key>/mean and <key>/std (over n-1, 0 for one alone) of what each
// sequence's tokens add up to, and advantages/mean, the mean over the sequences of the sum of their advantages.
// Sequences without a trained token do not count.
func sequenceMetrics(key string, sums []float64, batch []Graded) map[string]float64 {
	advantages := 0.0
	var counted []float64
	for i := range batch {
		for _, a := range batch[i].Advantages {
			advantages += float64(a)
		}
		if count(batch[i].ActionMask) > 0 {
			counted = append(counted, sums[i])
		}
	}
	n, m := len(counted), moment.Mean(counted)
	return map[string]float64{key + "/mean": m, key + "/std": moment.Deviation(counted, m, n-1),
		"advantages/mean": advantages / float64(max(1, n))}
}

// setEach sets the advantage of each trained token to coef*f(t), and returns the sum of f.
func (g *Graded) setEach(coef float64, f func(t int) float64) float64 {
	g.Advantages = make([]float32, len(g.ActionMask))
	sum := 0.0
	for t, keep := range g.ActionMask {
		if keep {
			v := f(t)
			sum += v
			g.Advantages[t] = float32(coef * v)
		}
	}
	g.Returns = slices.Clone(g.Advantages)
	return sum
}

// jsd brings the model towards a teacher by the generalised Jensen-Shannon divergence
//
//	JSD = lambda*KL(T|M) + (1-lambda)*KL(S|M), M = (1-lambda)*S + lambda*T
//
// of student S and teacher T, which is KL(S|T) over 1-lambda and lambda at the ends (Agarwal et al., arXiv 2306.13649).
// On tokens drawn from S its policy gradient needs no more than the log-probabilities s and t of the token: what
// depends on S inside the logarithms adds up to nothing, and the advantage of a token is -(1-lambda)*(s - log M).
//
// Upstream takes the integrand at the token, pointwise, as its value there. That is never above 0 (a mean of logarithms
// against the logarithm of the mean), so its negative praises every token, and most of all those that the teacher finds
// unlikely.
type jsd struct {
	lambda, coef, temperature float64
	pointwise                 bool // as upstream
}

func newJSD(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	a := jsd{r.Float("lambda_coef", 0.5), r.Float("kl_coef", 1), r.Float("temperature", 1),
		r.Word("estimate", "gradient", "pointwise") == "pointwise"}
	floatOrNil(r, "chunk_size") // how many tokens at a time a GPU takes
	r.Require(a.lambda >= 0 && a.lambda <= 1, "lambda_coef", a.lambda, "between 0 and 1")
	r.Require(a.temperature > 0, "temperature", a.temperature, "greater than 0")
	return a, r.Close()
}

func (jsd) Needs() Needs { return Needs{Old: true, Teacher: true} }

// logMix is log M at log-probabilities s and t, for 0 < lambda < 1.
func (a jsd) logMix(s, t float64) float64 {
	x, y := s+elementary.Log1p(-a.lambda), t+elementary.Log(a.lambda)
	return max(x, y) + elementary.Log1p(elementary.Exp(-math.Abs(x-y)))
}

// integrand is, with s and t the log-probabilities of student and teacher over the temperature,
//
//	lambda*(t - log M) + (1-lambda)*(s - log M)
//
// and s-t for lambda 0, t-s for lambda 1.
func (a jsd) integrand(s, t float64) float64 {
	switch a.lambda {
	case 0:
		return s - t
	case 1:
		return t - s
	}
	m := a.logMix(s, t)
	return float64(a.lambda*(t-m)) + float64((1-a.lambda)*(s-m))
}

// push is the advantage of a token for coefficient 1: minus the factor of its score in the gradient. At the ends that
// is t-s, and the ratio exp(t-s) with 1 as its baseline.
func (a jsd) push(s, t float64) float64 {
	switch a.lambda {
	case 0:
		return t - s
	case 1:
		return elementary.Exp(min(t-s, maxLogRatio)) - 1
	}
	return -(1 - a.lambda) * (s - a.logMix(s, t))
}

// divergence estimates the divergence at a token drawn from the student: its mean over such tokens is the divergence.
func (a jsd) divergence(s, t float64) float64 {
	ratio := elementary.Exp(min(t-s, maxLogRatio))
	switch a.lambda {
	case 0:
		return s - t
	case 1:
		return ratio * (t - s)
	}
	m := a.logMix(s, t)
	return float64(a.lambda*ratio*(t-m)) + float64((1-a.lambda)*(s-m))
}

// Assign sets the advantages, 0 outside the mask. jsd/ is the divergence that a sequence's trained tokens add up to;
// pointwise as upstream sums it up, else by its estimate.
func (a jsd) Assign(batch []Graded) (map[string]float64, error) {
	sums := make([]float64, len(batch))
	for i := range batch {
		g := &batch[i]
		g.setEach(a.coef, func(k int) float64 {
			s, t := float64(g.Logprobs[k])/a.temperature, float64(g.Teacher[k])/a.temperature
			if a.pointwise {
				sums[i] += a.integrand(s, t)
				return -a.integrand(s, t)
			}
			sums[i] += a.divergence(s, t)
			return a.push(s, t)
		})
	}
	return sequenceMetrics("jsd", sums, batch), nil
}
