package data

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// Expert opens the auxiliary buffer that the sample strategy mixes in, at the place where the job stopped; nil if
// it mixes nothing. It must last for steps train steps.
func Expert(ctx context.Context, j *job.Job, pos buffer.Position, steps int) (*supervised.Examples, error) {
	s := j.Method.SampleStrategy
	usual, experts := s.Split(j.Config.Buffer.TrainBatchSize)
	if experts == 0 {
		return nil, nil
	}
	key := "buffer.trainer_input.auxiliary_buffers." + s.ExpertBuffer
	eb, ok := j.Config.Buffer.TrainerInput.AuxiliaryBuffers[s.ExpertBuffer]
	switch {
	case !ok:
		return nil, fmt.Errorf("run: sample_strategy mix reads an expert's data from %s, which is not given; give it "+
			"with the path of a data set, or name another in sample_strategy_args.sft_dataset_name", key)
	case usual == 0:
		return nil, fmt.Errorf("run: expert_data_ratio %v leaves no place for samples among train_batch_size %d; "+
			"lower it, or use algorithm sft", s.ExpertRatio, j.Config.Buffer.TrainBatchSize)
	case eb.SchemaType != "" && eb.SchemaType != "sft" && eb.SchemaType != "experience":
		// the latter is the default
		return nil, fmt.Errorf("run: %s.schema_type is %s; an expert's data are of sft", key, eb.SchemaType)
	}
	rows, err := openExamples(ctx, j, &eb, key, dataset.Plan{BatchSize: experts, Epochs: eb.TotalEpochs,
		Remedy: "lower algorithm.sample_strategy_args.expert_data_ratio, or raise " + key + ".total_epochs"}, "sft")
	if err != nil {
		return nil, err
	}
	if n := rows.Reader.Steps(); n < steps {
		return nil, fmt.Errorf("run: %s has %d rows for %d epochs, enough for %d of %d steps with %d each; raise its "+
			"total_epochs", key, rows.Rows.Len(), eb.TotalEpochs, n, steps, experts)
	}
	return rows, rows.Reader.Restore(dataset.State{CurrentIndex: pos.Expert})
}
