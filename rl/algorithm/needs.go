package algorithm

// Needs names what a function reads besides the tokens, so that a trainer knows what to fetch. Each is one number per
// response token, except where it says otherwise.
type Needs struct {
	Old        bool // log-probabilities when the response was sampled
	Advantages bool // advantages, from the explorer or from Method.Score
	Logprobs   bool // log-probabilities under the weights being trained change the gradient, not only the loss
	Pairs      bool // sequences come in pairs: chosen, rejected, chosen, rejected ...

	Reward   bool // the experience's reward or token rewards
	Ref      bool // log-probabilities of the reference model
	Teacher  bool // log-probabilities of the teacher model
	Values   bool // the critic's value before each token
	Baseline bool // one per experience: the reward of a greedy response to the same task
	Entropy  bool // exact entropy of the distribution each token was drawn from, of the weights before the update
	Centre   bool // mean of p*(H+log p) under that distribution, H its entropy: what clipv compares a token with
}

// or returns the needs of a and b together.
func (a Needs) or(b Needs) Needs {
	return Needs{
		Old: a.Old || b.Old, Advantages: a.Advantages || b.Advantages, Logprobs: a.Logprobs || b.Logprobs,
		Pairs:  a.Pairs || b.Pairs,
		Reward: a.Reward || b.Reward, Ref: a.Ref || b.Ref, Teacher: a.Teacher || b.Teacher, Values: a.Values ||
			b.Values,
		Baseline: a.Baseline || b.Baseline, Entropy: a.Entropy || b.Entropy, Centre: a.Centre || b.Centre,
	}
}
