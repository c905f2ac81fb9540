package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
)

// openExpert opens the auxiliary buffer that the sample strategy mixes in, at the place where the job stopped; nil if
// it mixes nothing. It must last for so many train steps.
func (b *job) openExpert(ctx context.Context, pos buffer.Position, steps int) (*supervised.Examples, error) {
	s := b.method.SampleStrategy
	usual, experts := s.Split(b.cfg.Buffer.TrainBatchSize)
	if experts == 0 {
		return nil, nil
	}
	key := "buffer.trainer_input.auxiliary_buffers." + s.ExpertBuffer
	eb, ok := b.cfg.Buffer.TrainerInput.AuxiliaryBuffers[s.ExpertBuffer]
	switch {
	case !ok:
		return nil, fmt.Errorf("run: sample_strategy mix reads an expert's data from %s, which is not given; give it "+
			"with the path of a data set, or name another in sample_strategy_args.sft_dataset_name", key)
	case usual == 0:
		return nil, fmt.Errorf("run: expert_data_ratio %v leaves no place for samples among train_batch_size %d; "+
			"lower it, or use algorithm sft", s.ExpertRatio, b.cfg.Buffer.TrainBatchSize)
	case eb.SchemaType != "" && eb.SchemaType != "sft" && eb.SchemaType != "experience":
		// the latter is what a buffer has when nothing is given
		return nil, fmt.Errorf("run: %s.schema_type is %s; an expert's data are of sft", key, eb.SchemaType)
	}
	rows, err := b.openExamples(ctx, &eb, key, dataset.Plan{BatchSize: experts, Epochs: eb.TotalEpochs}, false)
	if err != nil {
		return nil, err
	}
	if n := rows.Reader.Steps(); n < steps {
		return nil, fmt.Errorf("run: %s has %d rows for %d epochs, enough for %d of %d steps with %d each; raise its "+
			"total_epochs", key, rows.Rows.Len(), eb.TotalEpochs, n, steps, experts)
	}
	return rows, rows.Reader.Restore(dataset.State{CurrentIndex: pos.Expert})
}

// checkStaleness refuses a sample strategy that would wait for ever: with a fixed schedule the age of each sample is
// known, and a step that is left without samples publishes nothing that new ones could be made with. exploreSteps is
// how many there are.
func checkStaleness(cfg *config.Config, m *algorithm.Method, exploreSteps int) error {
	most, schedule := m.SampleStrategy.MaxStaleness, syncSchedule(cfg)
	if cfg.Synchronizer.SyncStyle != config.Fixed || !cfg.Mode.Explores() || !cfg.Mode.Trains() {
		return nil
	}
	perStep, need := samplesOf(cfg), sampledOf(cfg, m)
	oldest := 0
	for step := 1; step <= min(max(1, exploreSteps), 10_000); step++ {
		last := (step*perStep-1)/need + 1 // the last train step that reads of it
		oldest = max(oldest, last-schedule.Version(step))
	}
	if float64(oldest) > most {
		return fmt.Errorf("run: sample_strategy_args.max_staleness is %v, and with sync_interval %d and sync_offset "+
			"%d samples are up to %d steps old when they are trained; raise it to %d, or lower the others",
			most, cfg.Synchronizer.SyncInterval, cfg.Synchronizer.SyncOffset, oldest, oldest)
	}
	return nil
}
