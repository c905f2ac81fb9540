// Package plan reckons from a configuration how a run goes: its algorithm, its steps, its learning rates, and which
// weights a step samples with.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// TrainSamples is how many of a train step's experiences the explorer makes: all, unless an expert's data is mixed in.
func TrainSamples(cfg *config.Config, m *algorithm.Method) int {
	usual, _ := m.SampleStrategy.Split(cfg.Buffer.TrainBatchSize)
	return max(1, usual)
}

// ExploreSamples is how many experiences an explore step makes.
func ExploreSamples(cfg *config.Config) int { return cfg.Buffer.BatchSize * cfg.Algorithm.RepeatTimes }

// Steps is how many train steps a run has: trainer.total_steps, buffer.total_steps, or as many as the explore steps
// feed. 0: only the end of the data tells.
func Steps(cfg *config.Config, m *algorithm.Method, exploreSteps int) int {
	feed := 0
	if exploreSteps > 0 {
		feed = exploreSteps * ExploreSamples(cfg) / TrainSamples(cfg, m)
	} else if n := cfg.Buffer.TotalSteps; n != nil {
		feed = *n
	}
	if n := cfg.Trainer.TotalSteps; n != nil && (feed == 0 || *n < feed) {
		return *n
	}
	return feed
}

// Sync says when weights travel.
func Sync(cfg *config.Config) synchronizer.Schedule {
	s, window := cfg.Synchronizer, Window(cfg)
	trainer := cmp.Or(Value(s.TrainerSyncInterval), s.SyncInterval)
	switch s.SyncStyle {
	case config.FullyAsync:
		return synchronizer.Schedule{Interval: 1, Publish: trainer, Offset: window, Window: window}
	case config.Newest:
		return synchronizer.Schedule{Interval: 1, Publish: trainer, Window: window}
	}
	return synchronizer.Schedule{Interval: max(1, cmp.Or(Value(s.ExplorerSyncInterval), s.SyncInterval)),
		Publish: trainer, Offset: s.SyncOffset}
}

// Window is how many explore steps are under way at a time.
func Window(cfg *config.Config) int {
	if s := cfg.Synchronizer.SyncStyle; s == config.FullyAsync || s == config.Newest {
		return max(1, cfg.Explorer.MaxInflightBatches)
	}
	return 1
}

// Rates is the learning rate over a run of the given number of steps.
func Rates(cfg *config.Config, steps int) (algorithm.Schedule, error) {
	o := cfg.Algorithm.Optimizer
	return algorithm.NewSchedule(o.LR, o.MinLRRatio, o.LRWarmupSteps, o.LRWarmupStepsRatio, steps, o.LRSchedulerType)
}

// Adam is the optimizer, the learning rate aside.
func Adam(cfg *config.Config) tinker.AdamParams {
	o := cfg.Algorithm.Optimizer
	p := tinker.DefaultAdam()
	p.Beta1, p.Beta2, p.WeightDecay, p.GradClipNorm = o.Betas[0], o.Betas[1], o.WeightDecay, cfg.Trainer.GradClip
	return p
}

// Changed tells when steps that are trained had other learning rates than a run of the given number of steps would have
// given them: by warm-up ratios and decays they depend on the number of steps. "": they had the same.
func Changed(cfg *config.Config, state trainer.State, steps int, now algorithm.Schedule) (string, error) {
	if state.Planned == 0 || state.Planned == steps {
		return "", nil
	}
	then, err := Rates(cfg, state.Planned)
	if err != nil {
		return "", err
	}
	for step := 1; step <= state.Step; step++ {
		if then.At(step) != now.At(step) {
			return fmt.Sprintf("steps 1 to %d had the learning rates of a run of %d steps; later ones have the rates "+
				"of a run of %d (algorithm.optimizer.lr_scheduler_type %s): the result differs from a run that was "+
				"planned for %d", state.Step, state.Planned, steps, cfg.Algorithm.Optimizer.LRSchedulerType, steps), nil
		}
	}
	return "", nil
}

// Complete says that all of a run's steps are trained, and how to plan more; "" when some are left.
func Complete(cfg *config.Config, trained, steps int) string {
	if steps == 0 || trained < steps {
		return ""
	}
	key := "buffer.total_steps"
	switch n := cfg.Trainer.TotalSteps; {
	case n != nil && *n == steps && cfg.Buffer.TotalSteps != nil && *cfg.Buffer.TotalSteps == steps:
		key = "buffer.total_steps and trainer.total_steps"
	case n != nil && *n == steps:
		key = "trainer.total_steps"
	case cfg.Buffer.TotalSteps == nil:
		key = "buffer.total_epochs"
	}
	return fmt.Sprintf("nothing to do: all %d steps are trained; raise %s to train more", steps, key)
}

// Value is *n, or 0 if n is nil.
func Value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Seconds is a duration of the configuration.
func Seconds(s float64) time.Duration {
	return time.Duration(math.Min(s*float64(time.Second), math.MaxInt64/2))
}

// MaxTokens is how many tokens a sequence may have by model.max_model_len and the models' context, 0 if neither is
// known.
func MaxTokens(cfg *config.Config, context int) int {
	if n := cfg.Model.MaxModelLen; n != nil && (context == 0 || *n < context) {
		return *n
	}
	return context
}
