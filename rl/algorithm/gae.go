package algorithm

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
)

// gae is generalised advantage estimation (Schulman et al., arXiv 1506.02438) over the values of a critic.
type gae struct {
	gamma, lambda float64
	critic        Critic
	first         int     // of the critic's tokens, -1 for the last of the vocabulary
	criticScale   float64 // the critic's learning rate over the actor's
	warmup        int     // steps in which the critic learns and the actor does not
}

// newGAE reads upstream's gamma and lam, and what a critic over reserved tokens needs: critic_low and critic_high,
// which returns should stay between, critic_bins (K), critic_sigma, critic_lr_scale and critic_first_token, the first
// of the K ids in a row that are read (-1 takes the last of the vocabulary); and verl's critic_warmup, see
// CriticWarmup. Nobody samples from a critic, so any do; ids whose likelihood depends little on the text, such as a
// tokenizer's unused ones, spare it unlearning what it thinks of them.
func newGAE(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	a := gae{gamma: r.Float("gamma", 1), lambda: r.Float("lam", 1), criticScale: r.Float("critic_lr_scale", 10)}
	a.warmup = r.Int("critic_warmup", 0, 0)
	a.critic = Critic{Low: r.Float("critic_low", -1), High: r.Float("critic_high", 2),
		Sigma: r.Float("critic_sigma", 0.75)}
	bins, first := r.Int("critic_bins", 31, 0), r.Float("critic_first_token", -1)
	r.Require(first == math.Trunc(first) && first >= -1 && first < 1<<30, "critic_first_token", first,
		"a token id, or -1 for the last of the vocabulary")
	a.first = int(first)
	for k := range min(bins, 1<<16) {
		a.critic.Tokens = append(a.critic.Tokens, int32(max(0, a.first)+k))
	}
	if _, err := NewCritic(a.critic); err != nil {
		r.Fail(err)
	}
	r.Require(a.gamma >= 0 && a.gamma <= 1, "gamma", a.gamma, "between 0 and 1")
	r.Require(a.lambda >= 0 && a.lambda <= 1, "lam", a.lambda, "between 0 and 1")
	r.Require(a.criticScale >= 0, "critic_lr_scale", a.criticScale, "0 or more")
	return a, r.Close()
}

// Critic is the critic that a method whose Needs have Values is trained with on a model of vocab tokens, and its
// learning rate over the actor's.
func (m *Method) Critic(vocab int) (c Critic, rate float64, err error) {
	a, ok := m.Late.(gae)
	if !ok {
		return c, 0, errors.New("algorithm: the method has no critic")
	}
	c = a.critic
	c.Tokens = slices.Clone(c.Tokens)
	K := len(c.Tokens)
	if a.first < 0 {
		for k := range c.Tokens {
			c.Tokens[k] = int32(vocab - K + k)
		}
	}
	if c.Tokens[0] < 0 || int(c.Tokens[K-1]) >= vocab {
		return c, 0, fmt.Errorf("algorithm: a critic with critic_bins %d from token %d on does not fit a vocabulary "+
			"of %d tokens; lower critic_bins or critic_first_token", K, c.Tokens[0], vocab)
	}
	return c, a.criticScale, nil
}

// CriticWarmup is how many steps, the first ones, leave the actor as it is, so that advantages mean something when it
// starts to learn.
func (m *Method) CriticWarmup() int {
	a, _ := m.Late.(gae)
	return a.warmup
}

func (gae) Needs() Needs { return Needs{Reward: true, Values: true} }

// Assign is, backwards over the trained tokens of each response, whose end has value 0,
//
//	delta(t) = r(t) + gamma*V(next) - V(t)
//	A(t) = delta(t) + gamma*lambda*A(next)
//
// with returns A+V and advantages A, whitened over the batch. Next is the next trained token: the model did not choose
// the tokens between, such as observations, and nobody trains their values. Their rewards are part of r(t), and they
// have the A and the return of the trained token after them.
func (a gae) Assign(batch []Graded) (map[string]float64, error) {
	advantages, returns := make([][]float64, len(batch)), make([][]float64, len(batch))
	for i := range batch {
		n := len(batch[i].Rewards)
		advantages[i], returns[i] = make([]float64, n), make([]float64, n)
		nextA, nextV, between := 0.0, 0.0, 0.0
		for t := n - 1; t >= 0; t-- {
			between += batch[i].Rewards[t]
			if batch[i].ActionMask[t] {
				v := float64(batch[i].Values[t])
				delta := between + float64(a.gamma*nextV) - v
				nextA = delta + float64(a.gamma*a.lambda*nextA)
				nextV, between = v, 0
			}
			advantages[i][t], returns[i][t] = nextA, nextA+nextV
		}
	}
	for i, row := range whitened(batch, advantages) {
		batch[i].setTokens(row, returns[i])
	}
	return nil, nil
}

// reinforcePlusPlus is the discounted reward that follows each token, whitened over the batch (Hu et al., arXiv
// 2501.03262).
type reinforcePlusPlus struct{ gamma float64 }

func newReinforcePlusPlus(args Args) (LateAdvantage, error) {
	r := arg.Read(args)
	a := reinforcePlusPlus{r.Float("gamma", 1)}
	r.Require(a.gamma >= 0 && a.gamma <= 1, "gamma", a.gamma, "between 0 and 1")
	return a, r.Close()
}

func (reinforcePlusPlus) Needs() Needs { return Needs{Reward: true} }

// Assign is G(t) = r(t) + gamma*G(next) over the trained tokens, to which the rewards of the tokens after them belong
// as in gae: returns are G, advantages G whitened, 0 outside the mask.
func (a reinforcePlusPlus) Assign(batch []Graded) (map[string]float64, error) {
	returns := make([][]float64, len(batch))
	for i := range batch {
		returns[i] = make([]float64, len(batch[i].Rewards))
		next, between := 0.0, 0.0
		for t := len(returns[i]) - 1; t >= 0; t-- {
			between += batch[i].Rewards[t]
			if batch[i].ActionMask[t] {
				next, between = between+float64(a.gamma*next), 0
			}
			returns[i][t] = next
		}
	}
	for i, row := range whitened(batch, returns) {
		for t, keep := range batch[i].ActionMask {
			if !keep {
				row[t] = 0
			}
		}
		batch[i].setTokens(row, returns[i])
	}
	return nil, nil
}

// remax takes the reward of a greedy response to the same task off (Li et al., arXiv 2310.10505).
type remax struct{}

func newReMax(args Args) (LateAdvantage, error) { return remax{}, arg.Read(args).Close() }

func (remax) Needs() Needs { return Needs{Reward: true, Baseline: true} }

// Assign is G(t) = r(t) + G(t+1), A(t) = G(t) - baseline*mask(t).
func (remax) Assign(batch []Graded) (map[string]float64, error) {
	for i := range batch {
		n := len(batch[i].Rewards)
		advantages, returns := make([]float64, n), make([]float64, n)
		next := 0.0
		for t := n - 1; t >= 0; t-- {
			next += batch[i].Rewards[t]
			advantages[t], returns[t] = next, next
			if batch[i].ActionMask[t] {
				advantages[t] -= *batch[i].Baseline
			}
		}
		batch[i].setTokens(advantages, returns)
	}
	return nil, nil
}
