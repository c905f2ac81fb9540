package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Metrics of an experience that the explorer counts in ways of their own. They are there only where they are not 0.
const (
	OutOfRoom    = "out_of_room"   // 1: the context ended an answer, or an episode had no room for another turn
	NewSequences = "new_sequences" // how often the chat template changed earlier turns of the episode
)

// left is how many tokens the model's context has left after n; bounded is false if the context is not known.
func (r *Rollout) left(n int) (left int, bounded bool) { return r.Context - n, r.Context > 0 }

// mostPrompt is how many tokens a prompt may have, 0 for any number: max_prompt_tokens, or what leaves one
// token of the context.
func (r *Rollout) mostPrompt() int {
	if r.Context > 0 && (r.MaxPrompt <= 0 || r.MaxPrompt >= r.Context) {
		return r.Context - 1
	}
	return r.MaxPrompt
}

// tooLong is the error of a prompt that nothing is sampled for.
type tooLong struct {
	prompt []int32 // up to the first token too many
	text   string
}

func (e *tooLong) Error() string { return e.text }

// checkPrompt refuses a prompt that is longer than mostPrompt.
func (r *Rollout) checkPrompt(what string, prompt []int32) error {
	most := r.mostPrompt()
	if most <= 0 || len(prompt) <= most {
		return nil
	}
	text := fmt.Sprintf("workflow: %s has %d tokens, above max_prompt_tokens %d; "+
		"raise it, or set enable_prompt_truncation", what, len(prompt), r.MaxPrompt)
	if most != r.MaxPrompt {
		text = fmt.Sprintf("workflow: %s has %d tokens, and the context of %d leaves no room for an answer; "+
			"make it shorter", what, len(prompt), r.Context)
	}
	return tinker.Userf("%w", &tooLong{prompt[:most+1], text})
}

// CheckPrompt refuses a prompt, called what in the error, that is longer than the configuration or the context allows.
// cut is its beginning up to the first token too many if the configuration wants such prompts masked, else nil.
func (r *Rollout) CheckPrompt(what string, prompt []int32) (cut []int32, err error) {
	if err = r.checkPrompt(what, prompt); err == nil || !r.Truncate {
		return nil, err
	}
	return prompt[:r.mostPrompt()+1], err
}

// masked is an over-long prompt, the reason that a repetition failed for, as an experience that trains nothing,
// where the configuration wants that.
func (r *Rollout) masked(t Task, run int, err error) (*experience.Experience, bool) {
	var long *tooLong
	if !r.Truncate || !errors.As(err, &long) {
		return nil, false
	}
	return truncated(r, t, run, long.prompt), true
}

// sampleOne asks for one answer of at most n tokens, 0 for as many as the context takes, and fewer where the
// context has not as many left. full says that the context ended it.
func (r *Rollout) sampleOne(ctx context.Context, prompt []int32, n int, seed uint64) (q tinker.SampledSequence,
	full bool, err error) {
	params := r.Params
	params.Seed, params.MaxTokens = &seed, n
	res, capped, err := r.Ask(ctx, tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: 1, Params: params})
	if err != nil {
		return q, false, err
	}
	if len(res.Sequences) != 1 {
		return q, false, fmt.Errorf("workflow: the sampler returned %d sequences where one was asked for",
			len(res.Sequences))
	}
	q = res.Sequences[0]
	return q, capped && q.StopReason == tinker.StopLength, nil
}

// Ask sends a request whose answers end with the context at the latest; capped says that this is before max_tokens.
func (r *Rollout) Ask(ctx context.Context, req tinker.SampleRequest) (res tinker.SampleResponse, capped bool,
	err error) {
	tokens, _ := req.Prompt.Tokens()
	if left, bounded := r.left(len(tokens)); bounded && (req.Params.MaxTokens == 0 || req.Params.MaxTokens > left) {
		if left <= 0 {
			return res, false, tinker.Userf("workflow: a prompt of %d tokens leaves no room for an answer in the "+
				"context of %d", len(tokens), r.Context)
		}
		req.Params.MaxTokens, capped = left, true
	}
	if res, err = tinker.Sample(ctx, r.Sampler, req); err != nil {
		return res, capped, fmt.Errorf("sample: %w", err)
	}
	return res, capped, nil
}
