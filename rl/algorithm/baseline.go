package algorithm

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// opmd takes a baseline off the reward: the mean of the group, or its soft maximum tau*log(mean(exp(r/tau))).
type opmd struct {
	logAvgExp bool
	tau       float64
}

func newOPMD(args Args) (Advantage, error) {
	r := arg.Read(args)
	o := opmd{logAvgExp: r.Word("opmd_baseline", "mean", "logavgexp") == "logavgexp", tau: r.Float("tau", 1)}
	r.Require(o.tau > 0, "tau", o.tau, "greater than 0")
	return o, r.Close()
}

func (o opmd) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	return assignByGroup(list, func(rewards []float64) ([]float64, map[string]float64) {
		base := o.baseline(rewards)
		scores := make([]float64, len(rewards))
		for i, r := range rewards {
			scores[i] = r - base
		}
		return scores, map[string]float64{"group_baseline": base, "reward_mean": moment.Mean(rewards)}
	})
}

func (o opmd) baseline(rewards []float64) float64 {
	switch {
	case len(rewards) == 1:
		return 0
	case !o.logAvgExp:
		return moment.Mean(rewards)
	}
	top := slices.Max(rewards)
	sum := 0.0
	for _, r := range rewards {
		sum += elementary.Exp((r - top) / o.tau)
	}
	return top + float64(o.tau*elementary.Log(sum/float64(len(rewards))))
}

// asymRE takes the mean of the group plus a shift off the reward; a shift below 0 gives good samples more weight than
// bad ones (Arnal et al., arXiv 2506.20520).
type asymRE struct{ shift float64 }

func newAsymRE(args Args) (Advantage, error) {
	r := arg.Read(args)
	return asymRE{r.Float("baseline_shift", -0.1)}, r.Close()
}

// baseline is 0 for one alone.
func (a asymRE) baseline(rewards []float64) float64 {
	if len(rewards) == 1 {
		return 0
	}
	return moment.Mean(rewards) + a.shift
}

func (a asymRE) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	return assignByGroup(list, func(rewards []float64) ([]float64, map[string]float64) {
		base := a.baseline(rewards)
		return shifted(rewards, base, 1), map[string]float64{"group_baseline": base, "reward_mean": base - a.shift}
	})
}

// recAdvantage is reward - mean, by choice over the deviation, with bad samples dropped until there are no more of them
// than good ones (Yao et al., arXiv 2509.24203).
type recAdvantage struct {
	epsilon   float64
	normalise bool
	balance   bool
}

func newRECAdvantage(args Args) (Advantage, error) {
	r := arg.Read(args)
	a := recAdvantage{r.Float("epsilon", 1e-6), r.Bool("std_normalize", false), false}
	if r.Given("drop") {
		a.balance = r.Word("drop", "balance") == "balance"
	}
	r.Require(a.epsilon > 0, "epsilon", a.epsilon, "greater than 0")
	return a, r.Close()
}

// Assign implements Advantage. Dropped samples stay, with advantage 0; mean and deviation (over n) are taken over the
// others. One alone has its reward as advantage.
func (a recAdvantage) Assign(list []*experience.Experience, r *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	return assignByGroup(list, func(rewards []float64) ([]float64, map[string]float64) {
		dropped := map[int]bool{}
		if a.balance {
			dropped = surplus(rewards, r)
		}
		var kept []float64
		for i, x := range rewards {
			if !dropped[i] {
				kept = append(kept, x)
			}
		}
		m, std := 0.0, 1.0
		if len(kept) > 1 {
			m = moment.Mean(kept)
			std = stdDev(kept, m) * math.Sqrt(float64(len(kept)-1)/float64(len(kept)))
		}
		scale := 1.0
		if a.normalise {
			scale = 1 / (std + a.epsilon)
		}
		scores := shifted(rewards, m, scale)
		for i := range dropped {
			scores[i] = 0
		}
		share := float64(len(dropped)) / float64(len(rewards))
		return scores, map[string]float64{"drop_balance": share, "reward_mean": m, "reward_std": std}
	})
}

// surplus draws as many of the rewards below the mean as there are more of them than of the others.
func surplus(rewards []float64, r *rand.Rand) map[int]bool {
	m := moment.Mean(rewards)
	var bad []int
	for i, x := range rewards {
		if x < m {
			bad = append(bad, i)
		}
	}
	r.Shuffle(len(bad), func(i, j int) { bad[i], bad[j] = bad[j], bad[i] })
	out := make(map[int]bool)
	for k := 0; k < 2*len(bad)-len(rewards); k++ {
		out[bad[k]] = true
	}
	return out
}
