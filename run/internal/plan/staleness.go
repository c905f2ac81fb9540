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
	most, schedule, onPolicy := m.SampleStrategy.MaxStaleness, Sync(cfg), 0
	if config.Follows052(cfg) {
		most, onPolicy = most+1, 1
	}
	if cfg.Synchronizer.SyncStyle != config.Fixed || !cfg.Mode.Explores() || !cfg.Mode.Trains() {
		return nil
	}
	perStep, need := ExploreSamples(cfg), TrainSamples(cfg, m)
	oldest := 0
	for step := 1; step <= min(max(1, exploreSteps), 10_000); step++ {
		last := (step*perStep-1)/need + 1 // the last train step that reads of it
		oldest = max(oldest, last-1-schedule.Version(step)+onPolicy)
	}
	if float64(oldest) > most {
		return fmt.Errorf("run: sample_strategy_args.max_staleness is %v, and with sync_interval %d and sync_offset "+
			"%d samples are up to %d steps old when they are trained; raise it to %d, or lower the others",
			most, cfg.Synchronizer.SyncInterval, cfg.Synchronizer.SyncOffset, oldest, oldest)
	}
	return nil
}
