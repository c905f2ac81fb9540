package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// newTask reads a task of an executor: a range of a request's samples from v. tokens has the bytes of tokens if the task
// has stop strings.
func newTask(v *version, q *samplingQueue, t executor.Sample, tokens TokenBytes) (*samplingRequest, error) {
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

// task is the task of an executor for n of a request's samples. Its tokens are not set.
func (s *samplingRequest) task(first, n int) executor.Sample {
	t := executor.Sample{Prompt: s.prompt, First: s.first + first, N: n, Seed: uint64(s.seed), MaxTokens: s.most,
		Temperature: s.temperature, TopP: s.topP, MinP: s.minP, TopK: s.topK, StopTokens: s.stop.tokens}
	for _, str := range s.stop.strings {
		t.StopStrings = append(t.StopStrings, string(str))
	}
	return t
}

// samplesAlone reports whether a request asks for whole samples and for nothing else.
func (s *samplingRequest) samplesAlone() bool {
	return s.drawn == nil && !s.wantsPrompt() && s.sampleTop == 0
}

// cost is what n samples of a request cost at most, in tokens.
func (s *samplingRequest) cost(n int) float64 { return float64(len(s.prompt) + n*s.most) }

// samples is the number of samples.
func (s *samplingRequest) samples() int { return s.n }

// weights is the version that the request samples from.
func (s *samplingRequest) weights() *version { return s.version }

// tenant is the owner of the request's client.
func (s *samplingRequest) tenant() string { return s.queue.owner }

// context ends when nobody wants the request any more.
func (s *samplingRequest) context() context.Context { return s.ctx }

// enter and leave count a request that is computed in parts.
func (s *samplingRequest) enter(b *backlog, promised bool) error {
	return b.take(s.queue.owner, len(s.prompt), promised)
}

func (s *samplingRequest) leave(b *backlog) { b.release(s.queue.owner, len(s.prompt)) }

// fill sets samples from the one numbered first on.
func (s *samplingRequest) fill(first int, out []tinker.SampledSequence) {
	copy(s.out.Sequences[first:], out)
}

// part is a request for n of the samples, from the one numbered first on.
func (s *samplingRequest) part(first, n int) *samplingRequest {
	part := *s
	part.first, part.n, part.left = s.first+first, n, n
	part.out = tinker.SampleResponse{Sequences: make([]tinker.SampledSequence, n)}
	return &part
}

// sample computes a promised request that has a queue, and waits for its samples.
func (c *scheduler) sample(ctx context.Context, s *samplingRequest) ([]tinker.SampledSequence, error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	s.ctx, s.resolve = ctx, resolve
	if err := c.submit(s, true); err != nil {
		return nil, err
	}
	<-f.Done() // also after ctx: the weights are in use until then
	out, err := f.Wait(ctx)
	return out.Sequences, err
}
