package tinker

import (
	"context"
	"fmt"
	"math"
)

// SampleRequest asks for continuations of one prompt.
type SampleRequest struct {
	Prompt             ModelInput     `json:"prompt"`
	NumSamples         int            `json:"num_samples"` // 0 means 1
	Params             SamplingParams `json:"sampling_params"`
	PromptLogprobs     bool           `json:"prompt_logprobs,omitempty"`
	TopKPromptLogprobs int            `json:"topk_prompt_logprobs,omitempty"`
	TopKSampleLogprobs int            `json:"topk_sample_logprobs,omitempty"` // SampledSequence.TopKLogprobs
	// TargetPromptLogprobs [len(prompt)-1, K] are tokens to score: row i at prompt position i+1; -1 asks for
	// nothing.
	TargetPromptLogprobs *Matrix[int32] `json:"target_prompt_logprobs,omitempty"`
	// PromptAltTokens is the number of tokens drawn at each prompt position after the first, independently and with
	// replacement, from the model's distribution at Params.Temperature; top_k and top_p do not cut it.
	PromptAltTokens int `json:"prompt_alt_tokens_k,omitempty"`
	// CacheSalt keeps the computed beginning of the prompt from requests with another salt. It changes no answer. The
	// Tinker protocol has no such parameter.
	CacheSalt string `json:"cache_salt,omitempty"`
	// Versions, of an earlier answer of a Mover by sample, repeats that answer: its weights change at the same tokens.
	// A sample without any follows its client. The Tinker protocol has no such parameter.
	Versions [][]Version `json:"versions,omitempty"`
}

// SamplingParams shape the draw. The zero value is not useful: start from DefaultSampling.
type SamplingParams struct {
	MaxTokens   int     `json:"max_tokens"`     // 0: until a stop or the end of the context
	Seed        *uint64 `json:"seed,omitempty"` // nil is random; sample i of a request has its own stream
	Temperature float64 `json:"temperature"`    // 0 is greedy
	TopK        int     `json:"top_k"`          // -1 is off
	TopP        float64 `json:"top_p"`          // 1 is off
	// MinP leaves out tokens with less than MinP times the probability of the likeliest token, at the temperature and
	// before top_k and top_p cut; 0 is off. The Tinker protocol has no such parameter.
	MinP        float64  `json:"min_p,omitempty"`
	StopStrings []string `json:"stop_strings,omitempty"` // the tokens that complete the stop are returned
	// likewise; without any, every end-of-turn token of the model stops
	StopTokens []int32 `json:"stop_tokens,omitempty"`
	// nothing ends a sample before MaxTokens, not even an end-of-turn token
	NoStop bool `json:"no_stop,omitempty"`
	// Guide changes the distribution that tokens are drawn from; nil does not. Logprobs are then of the distribution
	// that it leaves, at temperature 1, and not for training. The Tinker protocol has no such parameter.
	Guide Guide `json:"-"`
}

// Guide changes the distribution of a sample's next token, such as a grammar that the sample must follow. A guide does
// not change; it is used for several samples and by several goroutines at once.
type Guide interface {
	// Shape changes the logits [V] of the next token, by nothing but the tokens so far. -Inf excludes a token; at
	// least one must stay.
	Shape(row []float32)
	// After is the guide after one more token.
	After(token int32) Guide
}

// DefaultSampling is the model's own distribution.
func DefaultSampling() SamplingParams { return SamplingParams{Temperature: 1, TopK: -1, TopP: 1} }

// StopReason says why a sample ended.
type StopReason string

// The two stop reasons.
const (
	StopStop   StopReason = "stop"
	StopLength StopReason = "length"
)

// SampleResponse holds the samples in order.
type SampleResponse struct {
	Sequences []SampledSequence `json:"sequences"`
	// PromptLogprobs[j] = log p(prompt[j] | prompt[:j]), nats; entry 0 is NaN. Nil unless asked for.
	PromptLogprobs []float32 `json:"-"`
	// TopKPromptLogprobs[j] are the k likeliest tokens at j, best first; entry 0 is nil. Nil unless asked for.
	TopKPromptLogprobs [][]TokenLogprob `json:"-"`
	// TargetPromptLogprobs are the logprobs of the request's targets, in the same shape and layout; 0 for -1. Nil
	// unless asked for.
	TargetPromptLogprobs *Matrix[float32] `json:"-"`
	// PromptAltTokens[j] are the tokens drawn at position j, in the order they were drawn, with their logprobs; entry 0
	// is nil. Nil unless asked for.
	PromptAltTokens      [][]TokenLogprob `json:"-"`
	PromptCacheHitTokens int              `json:"prompt_cache_hit_tokens"`
}

// SampledSequence is one continuation. Logprobs are raw: of the model's own distribution at temperature 1, before any
// truncation, so that training computes the same values for the same tokens.
type SampledSequence struct {
	Tokens     []int32    `json:"tokens"`
	Logprobs   []float32  `json:"logprobs"` // nats, len(Tokens)
	StopReason StopReason `json:"stop_reason"`
	// TopKLogprobs[i] are the k likeliest tokens where Tokens[i] was drawn, best first. Nil unless asked for.
	TopKLogprobs [][]TokenLogprob `json:"-"`
	// Versions are the weights that drew the tokens, of a Mover's samples alone.
	Versions []Version `json:"versions,omitempty"`
}

// TokenLogprob is a token with its logprob.
type TokenLogprob struct {
	Token   int32   `json:"token"`
	Logprob float32 `json:"logprob"`
}

// Sample asks for samples and waits for them.
func Sample(ctx context.Context, c SamplingClient, req SampleRequest) (SampleResponse, error) {
	f, err := c.Sample(ctx, req)
	if err != nil {
		return SampleResponse{}, err
	}
	return f.Wait(ctx)
}

// ComputeLogprobs returns log p(tokens[j] | tokens[:j]), nats, shape of the input; entry 0 is NaN.
func ComputeLogprobs(ctx context.Context, c SamplingClient, input ModelInput) ([]float32, error) {
	p := DefaultSampling()
	p.MaxTokens = 1
	seed := uint64(0)
	p.Seed = &seed
	r, err := Sample(ctx, c, SampleRequest{Prompt: input, NumSamples: 1, Params: p, PromptLogprobs: true})
	if err != nil {
		return nil, err
	}
	if len(r.PromptLogprobs) != input.Len() || input.Len() > 0 && !math.IsNaN(float64(r.PromptLogprobs[0])) {
		return nil, fmt.Errorf("tinker: the service returned %d prompt logprobs for %d tokens", len(r.PromptLogprobs),
			input.Len())
	}
	return r.PromptLogprobs, nil
}
