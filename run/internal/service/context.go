package service

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Context is how many tokens a sequence may have, so that every model that is asked about it can read it: the one that
// is trained and sampled, the reference and the teacher. 0: the service does not tell, and refuses what is too long
// itself.
func Context(ctx context.Context, j *job.Job) (int, error) {
	var need algorithm.Needs
	if j.Method != nil { // trinity gem has none
		need = j.Method.Needs()
	}
	caps, err := j.API.Capabilities(ctx)
	if err != nil {
		return 0, fmt.Errorf("run: what the service can do: %w", err)
	}
	context := contextOf(caps, j.Model.Name)
	asked := need.Ref || need.Teacher || (need.Entropy || need.Centre) && !caps.ExactEntropy
	if asked && context > 0 {
		context-- // logprobs of a text are asked for with one token after it
	}
	if n := contextOf(caps, j.Teacher.Request.BaseModel); need.Teacher && n > 0 && (context == 0 || n-1 < context) {
		context = n - 1
	}
	return context, nil
}

// contextOf is the context of a base model, 0 if the service does not tell.
func contextOf(caps tinker.Capabilities, name string) int {
	for _, m := range caps.Models {
		if m.Name == name {
			return m.ContextLength
		}
	}
	return 0
}
