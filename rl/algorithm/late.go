package algorithm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-d9ad8ee0/trinity/internal/moment"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// LateAdvantage is an advantage function that the trainer computes, because it reads what only the trainer can fetch,
// or rewards that hold a KL penalty.
type LateAdvantage interface {
	// Needs says what must be fetched.
	Needs() Needs
	// Assign sets Advantages and Returns of each experience and keeps all of them in order. It may replace an
	// ActionMask by one with fewer tokens; it never writes into the old one.
	Assign(batch []Graded) (map[string]float64, error)
}

// Fetched has the values that a trainer fetched for one experience of R response tokens. Every slice is [R], or nil
// when no method asked for it (see Needs).
type Fetched struct {
	Ref      []float32
	Teacher  []float32
	Values   []float32
	Entropy  []float32
	Centre   []float32
	Baseline *float64
}

// Graded is an experience with what was fetched for it and its rewards, the KL penalty taken off.
type Graded struct {
	*experience.Experience
	Fetched
	Rewards []float64 // per response token, [R]
	Score   float64   // their sum; of a response without tokens, its reward
}

// LateAdvantages is the table of advantage functions that the trainer computes, by the value of algorithm.advantage_fn.
func LateAdvantages() map[string]func(Args) (LateAdvantage, error) {
	return map[string]func(Args) (LateAdvantage, error){
		"ppo":               newGAE,
		"reinforceplusplus": newReinforcePlusPlus,
		"rloo":              newRLOO,
		"remax":             newReMax,
		"grpo_verl":         newLateGRPO,
		"opmd_verl":         newLateOPMD,
		"asymre_verl":       newLateAsymRE,
		"clipb":             newClipB,
		"clipv":             newClipV,
		"on_policy_distill": newDistill,
		"jsd":               newJSD,
	}
}

// unscored is the Advantage of a method whose experiences get their advantages later or never.
type unscored struct{}

func (unscored) Assign(list []*experience.Experience, _ *rand.Rand) ([]*experience.Experience, map[string]float64,
	error) {
	return list, nil, nil
}

// Score computes the advantages of a step's experiences in the trainer and sets them; fetched is in the same order. It
// does nothing when the method's advantages are not late. Its metrics are below advantage/: the advantage function's
// and, with a KL penalty, kl (the mean over experiences with a trained token of the mean over those) and kl_coef. The
// error names what is missing.
func (m *Method) Score(batch []*experience.Experience, fetched []Fetched) (map[string]float64, error) {
	if m.Late == nil {
		return nil, nil
	}
	if len(fetched) != len(batch) {
		return nil, fmt.Errorf("algorithm: %d experiences came with what was fetched for %d; fetch for each",
			len(batch), len(fetched))
	}
	need := m.Late.Needs()
	need.Old, need.Ref = need.Old || m.Penalty.Active(), need.Ref || m.Penalty.Active()
	graded := make([]Graded, len(batch))
	kl, trained := 0.0, max(1, trainedOf(batch))
	for i, e := range batch {
		graded[i] = Graded{Experience: e, Fetched: fetched[i]}
		if err := graded[i].check(need); err != nil {
			return nil, err
		}
		graded[i].grade()
		if m.Penalty.Active() {
			kl += graded[i].penalise(m.Penalty) / float64(trained)
		}
	}
	assigned, err := m.Late.Assign(graded)
	if err != nil {
		return nil, err
	}
	metrics := map[string]float64{}
	for key, v := range assigned {
		metrics["advantage/"+key] = v
	}
	if m.Penalty.Active() {
		metrics["advantage/kl"], metrics["advantage/kl_coef"] = kl, m.Penalty.Coef
	}
	return metrics, nil
}

// trainedOf is how many experiences have a trained token.
func trainedOf(batch []*experience.Experience) (n int) {
	for _, e := range batch {
		if count(e.ActionMask) > 0 {
			n++
		}
	}
	return n
}

func (g *Graded) check(need Needs) error {
	for _, f := range []struct {
		name     string
		x        []float32
		required bool
	}{
		{"sampling logprobs", g.Logprobs, need.Old},
		{"token rewards", g.TokenRewards, false},
		{"reference logprobs", g.Ref, need.Ref},
		{"teacher logprobs", g.Teacher, need.Teacher},
		{"values", g.Values, need.Values},
		{"entropies", g.Entropy, need.Entropy},
		{"entropy centres", g.Centre, need.Centre},
	} {
		if (f.required || f.x != nil) && len(f.x) != len(g.ActionMask) {
			return fmt.Errorf("algorithm: experience %s has %d %s for %d response tokens; the advantage needs one "+
				"for each", g.EID, len(f.x), f.name, len(g.ActionMask))
		}
	}
	if need.Reward && g.Reward == nil && g.TokenRewards == nil {
		return fmt.Errorf("algorithm: experience %s has no reward; every experience must be graded before advantages "+
			"are computed", g.EID)
	}
	if need.Baseline && g.Baseline == nil {
		return fmt.Errorf("algorithm: experience %s has no baseline; remax needs the reward of a greedy response to "+
			"its task", g.EID)
	}
	return nil
}

// grade sets Rewards to the token rewards, or to the reward at the last token, trained or not.
func (g *Graded) grade() {
	g.Rewards = make([]float64, len(g.ActionMask))
	if g.TokenRewards != nil {
		g.Rewards = appendFloat64s(g.Rewards[:0], g.TokenRewards)
	} else if n := len(g.Rewards); n > 0 {
		g.Rewards[n-1] = float64(float32(g.RewardOr(0)))
	} else {
		g.Score = float64(float32(g.RewardOr(0)))
	}
	for _, r := range g.Rewards {
		g.Score += r
	}
}

// penalise takes coef*kl(old, ref) off the reward of each trained token and returns the mean kl of those tokens.
func (g *Graded) penalise(penalty KL) float64 {
	sum := 0.0
	for t, keep := range g.ActionMask {
		if !keep {
			continue
		}
		kl := penalty.estimate(float64(g.Logprobs[t]), float64(g.Ref[t]), 0, false).value
		sum += kl
		g.Rewards[t] -= float64(penalty.Coef * kl)
		g.Score -= float64(penalty.Coef * kl)
	}
	return sum / (float64(count(g.ActionMask)) + meanEps)
}

// setTokens writes advantages and returns [R].
func (g *Graded) setTokens(advantages, returns []float64) {
	g.Advantages, g.Returns = rounded(advantages, 1), rounded(returns, 1)
}

// whitened returns values [B][R] shifted and scaled to mean 0 and variance 1 over the trained tokens. Fewer than two
// trained tokens have no variance and are returned as they are.
func whitened(batch []Graded, values [][]float64) [][]float64 {
	var trained []float64
	for _, at := range trainedTokens(batch) {
		trained = append(trained, values[at.i][at.t])
	}
	m, scale := 0.0, 1.0
	if n := len(trained); n > 1 {
		squares := 0.0
		m = moment.Mean(trained)
		for _, v := range trained {
			squares += float64((v - m) * (v - m))
		}
		scale = 1 / math.Sqrt(squares/float64(n-1)+1e-8)
	}
	out := make([][]float64, len(values))
	for i, row := range values {
		out[i] = shifted(row, m, scale)
	}
	return out
}
