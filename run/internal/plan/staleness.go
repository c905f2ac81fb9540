package plan

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

// CheckStaleness refuses a sample strategy that would wait forever: with a fixed schedule the age of each sample is
// known, and a step that is left without samples publishes nothing that new ones could be made with. exploreSteps is
// how many there are.
func CheckStaleness(cfg *config.Config, m *algorithm.Method, exploreSteps int) error {
	if cfg.Synchronizer.SyncStyle != config.Fixed || !cfg.Mode.Explores() || !cfg.Mode.Trains() {
		return nil
	}
	if age, most := oldest(cfg, m, exploreSteps); float64(age) > most {
		return fmt.Errorf("run: sample_strategy_args.max_staleness is %v, and with sync_interval %d and sync_offset "+
			"%d samples are up to %d steps old when they are trained; raise it to %d, or lower the others",
			most, cfg.Synchronizer.SyncInterval, cfg.Synchronizer.SyncOffset, age, age)
	}
	return nil
}

// Stale says that whole batches of style fully_async will be too old to be trained, as far as the plan tells; "" if
// they will not.
func Stale(cfg *config.Config, m *algorithm.Method, exploreSteps int) string {
	if cfg.Synchronizer.SyncStyle != config.FullyAsync || !cfg.Mode.Explores() {
		return ""
	}
	age, most := oldest(cfg, m, exploreSteps)
	if float64(age) <= most {
		return ""
	}
	return fmt.Sprintf("sample_strategy_args.max_staleness is %v, and with max_inflight_batches %d and "+
		"trainer_sync_interval %d samples are up to %d steps old when they are trained: those that are too old are "+
		"passed over; raise it to %d to train on all", most, cfg.Explorer.MaxInflightBatches,
		Sync(cfg).Publish, age, age)
}

// oldest is the age of the oldest sample of a plan when it is trained, in train steps, and the most that is allowed: a
// sample on policy is 0 old, and 1 by the rules of 0.5.2.
func oldest(cfg *config.Config, m *algorithm.Method, exploreSteps int) (age int, most float64) {
	schedule, onPolicy, most := Sync(cfg), 0, m.SampleStrategy.MaxStaleness
	if config.Follows052(cfg) {
		onPolicy, most = 1, most+1
	}
	perStep, need := ExploreSamples(cfg), TrainSamples(cfg, m)
	fed := func(step int) int { // by a rule that counts train steps
		if cfg.Synchronizer.SyncStyle == config.FullyAsync {
			return step * perStep / need
		}
		return step
	}
	for step := 1; step <= min(max(1, exploreSteps), 10_000); step++ {
		last := (step*perStep-1)/need + 1 // the last train step that reads of it
		age = max(age, last-1-schedule.After(step, fed)+onPolicy)
	}
	return age, most
}
