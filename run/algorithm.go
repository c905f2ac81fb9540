package run

import (
	"context"
	"fmt"
	"io"
	"maps"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// buildAlgorithm finds what the run trains by.
func (b *job) buildAlgorithm(context.Context) (err error) {
	b.method, err = methodOf(b.cfg, b.Plugins)
	if err == nil && b.score != nil && b.method.Advantage != nil {
		b.method.Advantage = b.score(b.method.Advantage)
	}
	return err
}

// methodOf resolves section algorithm against the tables of package algorithm.
func methodOf(cfg *config.Config, own Plugins) (*algorithm.Method, error) {
	a, verl := cfg.Algorithm, cfg.Verl()
	m, err := algorithm.New(algorithm.Choice{
		Type: a.Type, SampleStrategy: a.SampleStrategy, SampleArgs: a.SampleStrategyArgs,
		Advantage: a.AdvantageFn, AdvantageArgs: criticArgs(a, verl),
		KLPenalty: a.KLPenaltyFn, KLPenaltyArgs: a.KLPenaltyFnArgs,
		PolicyLoss: a.PolicyLossFn, PolicyLossArgs: a.PolicyLossFnArgs,
		KLLoss: a.KLLossFn, KLLossArgs: a.KLLossFnArgs,
		Entropy: a.EntropyLossFn, EntropyArgs: a.EntropyLossFnArgs,
		AggregationMode: a.LossAggMode,
		Own:             algorithm.Tables{Advantages: own.Advantages, PolicyLosses: own.PolicyLosses},
	})
	if err != nil {
		return nil, err
	}
	if err := available(m); err != nil {
		return nil, err
	}
	m.Objective.TokenScale = cfg.Trainer.FixMicrobatchLoss
	m.Objective.Batched, m.Objective.MicroBatch = !cfg.Model.Tinker.Enable, verl.MicroBatch
	if cfg.Mode.Trains() && m.Schema == "experience" && cfg.Mode != config.Train && m.Advantage == nil {
		return nil, fmt.Errorf("run: algorithm %s scores no groups, so it cannot explore; use mode train", a.Type)
	}
	return m, nil
}

// criticArgs are the arguments of the advantage function, for one with a critic with what verl's own tree says of it.
func criticArgs(a config.Algorithm, verl config.Verl) map[string]any {
	if a.AdvantageFn != "ppo" {
		return a.AdvantageFnArgs
	}
	args := map[string]any{}
	if verl.CriticLR != nil && a.Optimizer.LR > 0 {
		args["critic_lr_scale"] = *verl.CriticLR / a.Optimizer.LR
	}
	if verl.CriticWarmup != nil {
		args["critic_warmup"] = *verl.CriticWarmup
	}
	maps.Copy(args, a.AdvantageFnArgs)
	return args
}

// available refuses what the algorithm needs and this version's loops do not give it.
func available(m *algorithm.Method) error {
	need, have := m.Needs(), trainer.Fetches()
	for _, f := range []struct {
		what       string
		need, have bool
	}{
		{"the values of a critic", need.Values, have.Values},
		{"a teacher's logprobs", need.Teacher, have.Teacher},
		{"the reward of a greedy response to each task", need.Baseline, have.Baseline},
		{"exact entropies", need.Entropy, have.Entropy},
		{"exact entropies", need.Centre, have.Centre},
		{"pairs of responses", need.Pairs, have.Pairs},
	} {
		if f.need && !f.have {
			return fmt.Errorf("run: algorithm %s needs %s, which is not in this version; choose others of "+
				"algorithm_type, advantage_fn, sample_strategy and policy_loss_fn", m.Name, f.what)
		}
	}
	return nil
}

// sayEntropies says before the run starts what a service without exact entropies makes of an algorithm that reads them.
func sayEntropies(
	ctx context.Context, service tinker.Service, cfg *config.Config, m *algorithm.Method, out io.Writer,
) error {
	caps, err := service.Capabilities(ctx)
	if err != nil || caps.ExactEntropy {
		return err
	}
	if need := m.Needs(); need.Entropy || need.Centre {
		fmt.Fprintf(out, "note: this service does not compute entropies: advantage_fn %s takes an estimate from "+
			"the likeliest tokens, "+
			"shown as actor/entropy_estimate_top20\n", cfg.Algorithm.AdvantageFn)
	}
	if m.Objective.Entropy.Coef != 0 {
		fmt.Fprintln(out, "note: this service does not compute entropies: the entropy term of the loss is an "+
			"estimate from the sampled tokens, "+
			"-p·log p, shown as actor/entropy_loss_estimate")
	}
	return nil
}
