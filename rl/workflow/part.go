package workflow

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Foreign is a workflow in another language. It runs for rollouts alone, not to see what it would ask, and it may ask
// every auxiliary model.
type Foreign interface{ Foreign() }

// What workflows outside of this package are made of.

// Ask sends a request whose answers end with the context at the latest; capped says that this is before max_tokens.
func (r *Rollout) Ask(ctx context.Context, req tinker.SampleRequest) (res tinker.SampleResponse, capped bool,
	err error) {
	return r.ask(ctx, req)
}

// CheckPrompt refuses a prompt, called what in the error, that is longer than the configuration or the context allows.
// cut is its beginning up to the first token too many where the configuration wants such prompts masked, else nil.
func (r *Rollout) CheckPrompt(what string, prompt []int32) (cut []int32, err error) {
	if err = r.checkPrompt(what, prompt); err == nil || !r.Truncate {
		return nil, err
	}
	return prompt[:r.mostPrompt()+1], err
}

// Stamp notes which weights and which row an experience comes from.
func (r *Rollout) Stamp(e *experience.Experience, t Task) { stamp(e, r, t) }

// Repeat plays n episodes side by side and returns their experiences in order. If one of them fails, the task fails as
// a whole: the list is nil then.
func Repeat(n int, play func(run int) ([]*experience.Experience, error)) ([]*experience.Experience, error) {
	return repeat(n, play)
}
