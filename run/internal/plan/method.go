package plan

import (
	"fmt"
	"maps"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

// Method resolves section algorithm against the tables of package algorithm and a program's own.
func Method(cfg *config.Config, own algorithm.Tables) (*algorithm.Method, error) {
	a, verl := cfg.Algorithm, cfg.Verl()
	m, err := algorithm.New(algorithm.Choice{
		Type: a.Type, SampleStrategy: a.SampleStrategy, SampleArgs: a.SampleStrategyArgs,
		Advantage: a.AdvantageFn, AdvantageArgs: criticArgs(a, verl),
		KLPenalty: a.KLPenaltyFn, KLPenaltyArgs: a.KLPenaltyFnArgs,
		PolicyLoss: a.PolicyLossFn, PolicyLossArgs: a.PolicyLossFnArgs,
		KLLoss: a.KLLossFn, KLLossArgs: a.KLLossFnArgs,
		Entropy: a.EntropyLossFn, EntropyArgs: a.EntropyLossFnArgs,
		AggregationMode: a.LossAggMode,
		Own:             own,
	})
	if err != nil {
		return nil, err
	}
	if err := available(m); err != nil {
		return nil, err
	}
	if config.Follows052(cfg) {
		m.SampleStrategy.MaxStaleness-- // which counted from 1
	}
	m.Objective.TokenScale = cfg.Trainer.FixMicrobatchLoss
	m.Objective.Batched = !cfg.Model.Tinker.Enable
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
