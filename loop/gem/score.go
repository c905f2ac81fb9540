package gem

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// epsilon keeps a deviation of 0 from dividing.
const epsilon = 1e-9

// score gives every turn its advantage and draws batch_size of them without replacement.
func (t *Trainer) score(step int, episodes []Turns) []*experience.Experience {
	var values []float64
	switch c := &t.Config; {
	case c.Method == "grpo":
		values = groupAdvantages(episodes, c.GroupSize)
	default:
		values = returns(episodes, c.Gamma)
		if c.UseReBN {
			normalize(values)
		}
		if c.Method == "shuffled" {
			shuffle(values, rng.New(uint64(c.Seed)).Stream("shuffle", step))
		}
	}
	var all []*experience.Experience
	for _, e := range episodes {
		for _, turn := range e {
			turn.Advantages = slices.Repeat([]float32{float32(values[len(all)])}, turn.ResponseLength())
			all = append(all, turn)
		}
	}
	if len(all) <= t.Config.BatchSize {
		return all
	}
	draw := rng.New(uint64(t.Config.Seed)).Stream("subsample", step)
	some := make([]*experience.Experience, t.Config.BatchSize)
	for i, j := range draw.Perm(len(all))[:len(some)] {
		some[i] = all[j]
	}
	return some
}

// returns are the discounted sums of what follows each turn: G_t = r_t + γ·G_{t+1}.
func returns(episodes []Turns, gamma float64) []float64 {
	var values []float64
	for _, e := range episodes {
		first, sum := len(values), 0.0
		values = append(values, make([]float64, len(e))...)
		for i := len(e) - 1; i >= 0; i-- {
			sum = e[i].RewardOr(0) + float64(gamma*sum)
			values[first+i] = sum
		}
	}
	return values
}

// normalize is return batch normalisation (ReBN, GEM, arXiv 2510.01051): (G − mean) / (deviation + 1e-9), with n−1.
func normalize(values []float64) {
	mean, std := moments(values)
	for i, v := range values {
		values[i] = (v - mean) / (std + epsilon)
	}
}

// moments are the mean and the sample standard deviation (n−1; 0 for fewer than two values).
func moments(values []float64) (mean, std float64) {
	mean = moment.Mean(values)
	return mean, moment.Deviation(values, mean, len(values)-1)
}

// groupAdvantages gives every turn of an episode (R − mean) / (deviation + 1e-9) over the returns R of its group.
func groupAdvantages(episodes []Turns, size int) []float64 {
	groups := map[int][]float64{}
	key := func(e Turns) int { round, index := slotOf(e); return round<<32 | index/size }
	for _, e := range episodes {
		groups[key(e)] = append(groups[key(e)], e.Return())
	}
	var values []float64
	for _, e := range episodes {
		mean, std := moments(groups[key(e)])
		for range e {
			values = append(values, (e.Return()-mean)/(std+epsilon))
		}
	}
	return values
}

// shuffle deals the values out at random.
func shuffle(values []float64, draw rng.Stream) {
	for i := len(values) - 1; i > 0; i-- {
		j := draw.IntN(i + 1)
		values[i], values[j] = values[j], values[i]
	}
}
