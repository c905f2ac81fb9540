package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/algorithm"
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// buildAlgorithm resolves section algorithm against the tables of package algorithm.
func (b *job) buildAlgorithm(context.Context) error {
	a := b.cfg.Algorithm
	m, err := algorithm.New(algorithm.Choice{
		Type: a.Type, SampleStrategy: a.SampleStrategy,
		Advantage: a.AdvantageFn, AdvantageArgs: a.AdvantageFnArgs,
		KLPenalty:  a.KLPenaltyFn,
		PolicyLoss: a.PolicyLossFn, PolicyLossArgs: a.PolicyLossFnArgs,
		KLLoss: a.KLLossFn, KLLossArgs: a.KLLossFnArgs,
		Entropy: a.EntropyLossFn, EntropyArgs: a.EntropyLossFnArgs,
		AggregationMode: a.LossAggMode,
	})
	if err != nil {
		return err
	}
	m.Objective.TokenScale = b.cfg.Trainer.FixMicrobatchLoss
	if b.cfg.Mode.Trains() && m.Schema == "experience" && b.cfg.Mode != config.Train && m.Advantage == nil {
		return fmt.Errorf("run: algorithm %s scores no groups, so it cannot explore; use mode train", a.Type)
	}
	if b.score != nil && m.Advantage != nil {
		m.Advantage = b.score(m.Advantage)
	}
	b.method = m
	return nil
}

// schedule is the learning rate over the run's steps.
func (b *job) schedule() (algorithm.Schedule, error) {
	o := b.cfg.Algorithm.Optimizer
	return algorithm.NewSchedule(o.LR, o.MinLRRatio, o.LRWarmupSteps, o.LRWarmupStepsRatio, b.steps, o.LRSchedulerType)
}

func (b *job) adam() tinker.AdamParams {
	o := b.cfg.Algorithm.Optimizer
	p := tinker.DefaultAdam()
	p.Beta1, p.Beta2, p.WeightDecay, p.GradClipNorm = o.Betas[0], o.Betas[1], o.WeightDecay, b.cfg.Trainer.GradClip
	return p
}
