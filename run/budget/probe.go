package budget

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Rates are the tokens per second of the local engine on a model, measured for a moment.
type Rates struct {
	Sampled float64 // of samples decoded together
	Trained float64 // of forward_backward
}

// The work of a probe: as little as tells the two rates apart from noise.
const (
	probeSamples = 64
	probeTokens  = 8   // of each sample
	probePrompt  = 192 // tokens of the sequence that is only read
	probeTime    = 100 * time.Millisecond
)

// trainingCost is how much longer a token takes in forward_backward than in the forward pass that the probe times: the
// products run once more for the input's gradient, and with all weights trained once more for theirs.
func trainingCost(rank int) float64 {
	if rank == 0 {
		return 3
	}
	return 2.2
}

// Measure tells how fast a service samples from a base model with a vocabulary of that size. It trains nothing and
// leaves nothing behind.
func Measure(ctx context.Context, s tinker.Service, base string, vocab, samples, rank int) (Rates, error) {
	c, err := s.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: base})
	if err != nil {
		return Rates{}, err
	}
	samples = min(max(samples, 1), probeSamples)
	next := 0
	text := func(n int) tinker.ModelInput { // a new one each time, so that no prefix of it is cached
		ids := make([]int32, n)
		for i := range ids {
			next++
			ids[i] = int32((next*7919 + 13) % vocab)
		}
		return tinker.Text(ids)
	}
	if _, err := tinker.ComputeLogprobs(ctx, c, text(8)); err != nil { // loads the model
		return Rates{}, err
	}
	sampled, err := fastest(func() (int, error) { return sampleTokens(ctx, c, text(8), samples, vocab) })
	if err != nil {
		return Rates{}, err
	}
	read, err := fastest(func() (int, error) {
		_, err := tinker.ComputeLogprobs(ctx, c, text(probePrompt))
		return probePrompt, err
	})
	return Rates{Sampled: sampled, Trained: read / trainingCost(rank)}, err
}

// sampleTokens draws samples of probeTokens tokens, which only the last token of the vocabulary ends early, and counts
// what came.
func sampleTokens(ctx context.Context, c tinker.SamplingClient, prompt tinker.ModelInput, samples,
	vocab int) (int, error) {
	p, seed := tinker.DefaultSampling(), uint64(1)
	p.MaxTokens, p.Seed, p.StopTokens = probeTokens, &seed, []int32{int32(vocab - 1)}
	r, err := tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: prompt, NumSamples: samples, Params: p})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range r.Sequences {
		n += len(s.Tokens)
	}
	return n, nil
}

// fastest repeats work for probeTime and returns its best rate, in tokens per second: what else the machine does only
// slows.
func fastest(work func() (tokens int, err error)) (float64, error) {
	best := 0.0
	for begin := time.Now(); best == 0 || time.Since(begin) < probeTime; {
		start := time.Now()
		n, err := work()
		if err != nil {
			return 0, err
		}
		best = max(best, float64(n)/max(time.Since(start).Seconds(), 1e-9))
	}
	return best, nil
}
