package plan

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// Operators are the steps that experiences go through before they are scored.
func Operators(cfg *config.Config, own map[string]pipeline.Make) ([]pipeline.Step, error) {
	var steps []pipeline.Step
	var errs []error
	for i, op := range cfg.DataProcessor.ExperiencePipeline.Operators {
		s, err := pipeline.New(op.Name, op.Args, own)
		if err != nil {
			key := fmt.Sprintf("data_processor.experience_pipeline.operators[%d]", i)
			errs = append(errs, job.AtKey(key+".name", job.AtArguments(key+".args", err)))
		}
		steps = append(steps, s)
	}
	return steps, errors.Join(errs...)
}

// Priority is the order of the replay buffer, nil if there is none.
func Priority(eb *config.ExperienceBuffer, seed uint64) (*buffer.Priority, error) {
	r := eb.ReplayBuffer
	if !r.Enable {
		return nil, nil
	}
	p := buffer.Priority{Seed: seed, Capacity: eb.Capacity}
	if r.ReuseCooldownTime != nil {
		p.Reuse, p.Cooldown = true, Seconds(*r.ReuseCooldownTime)
	}
	return buffer.NewPriority(r.PriorityFn, r.PriorityFnArgs, p)
}
