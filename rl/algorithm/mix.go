package algorithm

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// mix trains on the model's own responses with PPO and on an expert's with a supervised loss:
//
//	(1-mu)*ppo(usual) + mu*supervised(expert)
type mix struct {
	usual, expert         PolicyLoss
	usualMode, expertMode Aggregation // instead of the common one, or ""
	mu                    func(step int) float64
	showMu                bool
	geometry              geometry
}

// geometry describes the micro-batches in which Trinity-RFT evaluates the loss on several GPUs. It makes their sum the
// mean over all usual sequences and the mean over all expert ones of a step, which Step computes directly.
type geometry struct {
	mini, micro, gpus, usual, expert int
	dynamic                          bool
}

func newMix(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	mu := r.Float("mu", 0.1)
	r.Require(mu >= 0 && mu <= 1, "mu", mu, "between 0 and 1")
	return newMixed(r, mix{expert: sft{}, mu: func(int) float64 { return mu }})
}

// newMixChord lets mu rise and fall over the steps, and weighs expert tokens by p(1-p) (CHORD, arXiv 2508.11408).
func newMixChord(args Args) (PolicyLoss, error) {
	r := arg.Read(args)
	s := muSchedule{warm: r.Int("mu_warmup_steps", 0, 0), decay: r.Int("mu_decay_steps", 0, 0),
		peak: r.Float("mu_peak", 0.1), valley: r.Float("mu_valley", 0.1)}
	r.Require(s.peak >= 0 && s.peak <= 1, "mu_peak", s.peak, "between 0 and 1")
	r.Require(s.valley >= 0 && s.valley <= 1, "mu_valley", s.valley, "between 0 and 1")
	m := mix{expert: sft{}, mu: s.at, showMu: true}
	if r.Bool("enable_phi_function", true) {
		m.expert = sftPhi{cutoff: 1}
	}
	return newMixed(r, m)
}

// newMixed reads what both mixes share.
func newMixed(r *arg.Reader, m mix) (PolicyLoss, error) {
	clip := Args{}
	for _, name := range []string{"clip_range", "clip_range_low", "clip_range_high"} {
		if x := floatOrNil(r, name); x != nil {
			clip[name] = *x
		}
	}
	var err error
	if m.usual, err = newPPO(clip); err != nil {
		r.Fail(err)
	}
	m.usualMode = aggregationOf(r, "grpo_loss_agg_mode")
	m.expertMode = aggregationOf(r, "sft_loss_agg_mode")
	m.geometry = geometry{
		mini: r.Int("ppo_mini_batch_size", 1, 0), micro: r.Int("ppo_micro_batch_size_per_gpu", 1, 0),
		gpus:  r.Int("ngpus_trainer", 1, 0),
		usual: r.Int("train_batch_size_usual", 1, 0), expert: r.Int("train_batch_size_expert", 1, 0),
		dynamic: r.Bool("use_dynamic_bsz", false),
	}
	g := m.geometry
	r.Require(g.micro > 0, "ppo_micro_batch_size_per_gpu", g.micro, "1 or more")
	r.Require(g.gpus > 0, "ngpus_trainer", g.gpus, "1 or more")
	if g.gpus > 0 {
		r.Require(g.usual >= g.gpus, "train_batch_size_usual", g.usual, "at least ngpus_trainer")
		r.Require(g.expert >= g.gpus, "train_batch_size_expert", g.expert, "at least ngpus_trainer")
	}
	return m, r.Close()
}

// muSchedule is a linear rise to peak over the first warm steps, then half a cosine down to valley over decay steps.
type muSchedule struct {
	warm, decay  int
	peak, valley float64
}

func (s muSchedule) at(step int) float64 {
	switch {
	case step < s.warm:
		return float64(step) / float64(s.warm) * s.peak
	case step >= s.warm+s.decay:
		return s.valley
	}
	fall := (1 + elementary.Cos(math.Pi*float64(step-s.warm)/float64(s.decay))) / 2
	return s.valley + float64((s.peak-s.valley)*fall)
}

// weight is the factor of one sequence of a kind that a step has n of, in a micro-batch of rows sequences.
func (g geometry) weight(n, rows int) float64 {
	perGPU := float64(n / g.gpus)
	if g.dynamic {
		return float64(g.mini/g.gpus) / (float64(rows) * perGPU)
	}
	return float64(g.mini/g.micro) / perGPU
}

func (mix) Needs() Needs { return Needs{Old: true, Advantages: true, Logprobs: true} }

// Loss is one micro-batch as Trinity-RFT evaluates it: each kind's loss is multiplied with the number of its sequences
// and the weight of its geometry.
func (m mix) Loss(batch []Sequence, agg Aggregation) Loss {
	rows := len(batch)
	return m.combined(batch, agg, false, func(usual, expert int) (float64, float64) {
		return float64(usual) * m.geometry.weight(m.geometry.usual, rows), float64(expert) * m.geometry.weight(
			m.geometry.expert, rows)
	})
}

// Step implements wholeStep: each kind's loss is the mean over its sequences of the step.
func (m mix) Step(batch []Sequence, agg Aggregation, perSequence bool) Loss {
	return m.combined(batch, agg, perSequence, func(int, int) (float64, float64) { return 1, 1 })
}

// combined evaluates both kinds, scaled as scale says for their numbers of sequences. A kind that is absent adds 0.
func (m mix) combined(batch []Sequence, agg Aggregation, perSequence bool,
	scale func(usual, expert int) (float64, float64)) Loss {
	usual, expert := ofKind(batch, false), ofKind(batch, true)
	scaleUsual, scaleExpert := scale(len(usual), len(expert))
	mu := 0.0
	if len(batch) > 0 {
		mu = m.mu(batch[0].Step)
	}
	out := Loss{Gradient: make([][]float64, len(batch)), Metrics: map[string]float64{}}
	add := func(prefix string, l PolicyLoss, at []int, mode Aggregation, scale, share float64) {
		if len(at) == 0 {
			return
		}
		part := make([]Sequence, len(at))
		for k, i := range at {
			part[k] = batch[i]
		}
		got := l.Loss(part, mode.per(perSequence))
		out.Value += float64(share * scale * got.Value)
		for k, i := range at {
			out.Gradient[i] = make([]float64, len(batch[i].Mask))
			addScaled(out.Gradient[i], share*scale, got.Gradient[k])
		}
		for key, v := range got.Metrics {
			out.Metrics[prefix+key] = scale * v
		}
	}
	add("usual/", m.usual, usual, Aggregation(or(string(m.usualMode), string(agg))), scaleUsual, 1-mu)
	add("expert/", m.expert, expert, Aggregation(or(string(m.expertMode), string(agg))), scaleExpert, mu)
	for i := range out.Gradient {
		if out.Gradient[i] == nil {
			out.Gradient[i] = make([]float64, len(batch[i].Mask))
		}
	}
	out.Metrics["loss"] = out.Value
	if m.showMu {
		out.Metrics["mu"] = mu
	}
	return out
}

// ofKind are the sequences of a kind that have a trained token.
func ofKind(batch []Sequence, expert bool) []int {
	var at []int
	for i := range batch {
		if batch[i].Expert == expert && count(batch[i].Mask) > 0 {
			at = append(at, i)
		}
	}
	return at
}
