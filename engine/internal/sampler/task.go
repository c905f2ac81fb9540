package sampler

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// NewTask reads a task of an executor: a range of a request's samples from v. tokens has the bytes of tokens if the
// task has stop strings.
func NewTask(v *weights.Version, q *Queue, t executor.Sample, tokens weights.TokenBytes) (*Request, error) {
	if t.N < 1 || t.First < 0 || t.MaxTokens < 1 {
		return nil, fmt.Errorf("engine: a task for %d samples from %d of %d tokens", t.N, t.First, t.MaxTokens)
	}
	p := tinker.SamplingParams{MaxTokens: t.MaxTokens, Seed: &t.Seed, Temperature: t.Temperature,
		TopK: cmp.Or(t.TopK, -1), TopP: t.TopP, MinP: t.MinP, NoStop: true}
	s, err := newRequest(v, tinker.SampleRequest{Prompt: tinker.Text(t.Prompt), NumSamples: t.N, Params: p}, nil)
	if err != nil {
		return nil, err
	}
	s.queue, s.first, s.stop.tokens = q, t.First, t.StopTokens
	return s, s.stop.add(t.StopStrings, tokens)
}

// Task is the task of an executor for n of a request's samples. Its tokens are not set.
func (s *Request) Task(first, n int) executor.Sample {
	t := executor.Sample{Prompt: s.prompt, First: s.first + first, N: n, Seed: uint64(s.seed), MaxTokens: s.most,
		Temperature: s.temperature, TopP: s.topP, MinP: s.minP, TopK: s.topK, StopTokens: s.stop.tokens}
	for _, str := range s.stop.strings {
		t.StopStrings = append(t.StopStrings, string(str))
	}
	return t
}

// SamplesAlone reports whether a request asks for whole samples of one version's own distribution and for nothing else.
func (s *Request) SamplesAlone() bool {
	return s.drawn == nil && s.flight == nil && !s.wantsPrompt() && s.sampleTop == 0 && s.guide == nil
}

// Cost is the most that n samples of a request cost, in tokens.
func (s *Request) Cost(n int) float64 { return float64(len(s.prompt) + n*s.most) }

// Samples is the number of samples.
func (s *Request) Samples() int { return s.n }

// Weights is the version that the request samples from.
func (s *Request) Weights() *weights.Version { return s.version }

// Tenant is the owner of the request's client.
func (s *Request) Tenant() string { return s.queue.owner }

// Context ends when nobody wants the request any more.
func (s *Request) Context() context.Context { return s.ctx }

// Enter and Leave count a request that is computed in parts.
func (s *Request) Enter(b *fair.Backlog, promised bool) error {
	return b.Take(s.queue.owner, len(s.prompt), promised)
}

func (s *Request) Leave(b *fair.Backlog) { b.Release(s.queue.owner, len(s.prompt)) }

// Fill sets samples from the one numbered first on.
func (s *Request) Fill(first int, out []tinker.SampledSequence) {
	copy(s.out.Sequences[first:], out)
}

// Part is a request for n of the samples, from the one numbered first on.
func (s *Request) Part(first, n int) *Request {
	part := *s
	part.first, part.n, part.left = s.first+first, n, n
	part.out = tinker.SampleResponse{Sequences: make([]tinker.SampledSequence, n)}
	return &part
}

// Sample computes a promised request that has a queue, and waits for its samples.
func (c *Scheduler) Sample(ctx context.Context, s *Request) ([]tinker.SampledSequence, error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	s.ctx, s.resolve = ctx, resolve
	if err := c.Submit(s, true); err != nil {
		return nil, err
	}
	<-f.Done() // also after ctx: the weights are in use until then
	out, err := f.Wait(ctx)
	return out.Sequences, err
}
