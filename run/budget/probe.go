package budget

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Rates are the tokens per second of the local engine on a model, measured for some seconds.
type Rates struct {
	Alone   float64 // of one sample
	Sampled float64 // of samples decoded together
	Trained float64 // of forward_backward
	Waited  float64 // the share of the measuring that it waited for a processor; 0 if that is not known
}

// Work is the load that rates are measured with.
type Work struct {
	Base    string
	Vocab   int         // of the base model
	Samples int         // decoded together, at most probeSamples of them; 0: none
	Length  int         // tokens of a sequence, prompt and answer together
	LoRA    tinker.LoRA // trained; rank 0 is all weights
}

// A probe does the work of a steady step: sequences half as long as they get while they are sampled, and
// batches long enough to fill a pass of training, as far as batchTime allows.
const (
	probeSamples = 64
	probeTokens  = 16 // of each sample
	probeLength  = 256
	probeBatch   = 2048 // tokens
	firstBatch   = 128
	probeLeast   = 40 * time.Millisecond  // each measurement is repeated that long, and until two agree,
	probeTime    = 400 * time.Millisecond // or that long, but at least twice
	probeAgree   = .97                    // the ratio of the two best
	batchTime    = 2 * time.Second        // of a batch, if that is less than probeBatch tokens
)

// fullCost is how much longer a token takes in forward_backward of all weights than in the forward pass that the probe
// times instead: the products run once more for the input's gradient and once more for the weights'. Training would
// take as much memory as the run.
const fullCost = 3

// probe measures a service.
type probe struct {
	Work
	service tinker.Service
	client  tinker.SamplingClient
	next    int // makes every text a new one
}

// Measure tells how fast a service samples from a base model and trains it. It leaves nothing behind: the adapter that
// it trains is unloaded.
func Measure(ctx context.Context, s tinker.Service, w Work) (r Rates, err error) {
	begin := readWaits()
	defer func() { r.Waited = readWaits().since(begin) }()
	w.Length = min(max(w.Length, 16), probeLength)
	p := &probe{Work: w, service: s}
	if p.client, err = s.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: w.Base}); err != nil {
		return r, err
	}
	if w.Samples > 0 {
		if r.Alone, err = p.sampling(ctx, 1); err != nil {
			return r, err
		}
		if r.Sampled, err = p.sampling(ctx, min(w.Samples, probeSamples)); err != nil {
			return r, err
		}
	}
	if w.LoRA.Rank == 0 {
		r.Trained, err = p.reading(ctx)
		r.Trained /= fullCost
		return r, err
	}
	r.Trained, err = p.training(ctx)
	return r, err
}

// tokens is a new text of n tokens, so that no prefix of it is cached.
func (p *probe) tokens(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		p.next++
		ids[i] = int32((p.next*7919 + 13) % p.Vocab)
	}
	return ids
}

// sampling is the rate of n samples of one prompt, which is computed before.
func (p *probe) sampling(ctx context.Context, n int) (float64, error) {
	prompt := tinker.Text(p.tokens(p.Length / 2))
	if _, err := p.sample(ctx, prompt, n); err != nil {
		return 0, err
	}
	return fastest(func() (int, error) { return p.sample(ctx, prompt, n) })
}

// sample draws n samples of probeTokens tokens, which only the last token of the vocabulary ends early, and counts what
// came.
func (p *probe) sample(ctx context.Context, prompt tinker.ModelInput, n int) (int, error) {
	params, seed := tinker.DefaultSampling(), uint64(1)
	params.MaxTokens, params.Seed, params.StopTokens = probeTokens, &seed, []int32{int32(p.Vocab - 1)}
	r, err := tinker.Sample(ctx, p.client, tinker.SampleRequest{Prompt: prompt, NumSamples: n, Params: params})
	if err != nil {
		return 0, err
	}
	tokens := 0
	for _, s := range r.Sequences {
		tokens += len(s.Tokens)
	}
	return tokens, nil
}

// reading is the rate of forward passes.
func (p *probe) reading(ctx context.Context) (float64, error) {
	return fastest(func() (int, error) {
		_, err := tinker.ComputeLogprobs(ctx, p.client, tinker.Text(p.tokens(p.Length)))
		return p.Length, err
	})
}

// training is the rate of forward_backward of a new adapter. A first, short batch tells how long a batch may be. It is
// measured from the second time on: new memory costs as much as the arithmetic.
func (p *probe) training(ctx context.Context) (rate float64, err error) {
	seed := int64(1)
	p.LoRA.Seed = &seed
	c, err := p.service.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "probe", BaseModel: p.Base, LoRA: p.LoRA})
	if err != nil {
		return 0, err
	}
	defer func() {
		if uerr := p.unload(ctx, c); err == nil {
			err = uerr
		}
	}()
	for _, n := range []int{firstBatch, firstBatch} { // the first one loads the model and finds memory
		start := time.Now()
		if err := p.train(ctx, c, n); err != nil {
			return 0, err
		}
		rate = float64(n) / max(time.Since(start).Seconds(), 1e-9)
	}
	n := min(max(int(rate*batchTime.Seconds()), firstBatch), probeBatch)
	if err := p.train(ctx, c, n); err != nil { // finds its memory
		return 0, err
	}
	return fastest(func() (int, error) { return n, p.train(ctx, c, n) })
}

// train computes the gradient of n tokens.
func (p *probe) train(ctx context.Context, c tinker.TrainingClient, n int) error {
	req := tinker.ForwardRequest{LossFn: tinker.CrossEntropy}
	for i := 0; n > 0; i++ {
		ids := p.tokens(min(n, p.length(i)) + 1)
		n -= len(ids) - 1
		req.Data = append(req.Data, tinker.Datum{ModelInput: tinker.Text(ids[:len(ids)-1]),
			LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts(ids[1:]),
				tinker.Weights: tinker.Floats(slices.Repeat([]float32{1}, len(ids)-1))}})
	}
	f, err := c.ForwardBackward(ctx, req)
	if err != nil {
		return err
	}
	_, err = f.Wait(ctx)
	return err
}

// length is the length of sequence i of a batch. As in real ones, lengths differ, and few are a multiple of what a
// kernel takes at once, which would train a tenth faster.
func (p *probe) length(i int) int { return max(1, p.Length*(6+i*5%11)/16-i%7) }

func (p *probe) unload(ctx context.Context, c tinker.TrainingClient) error {
	u, ok := p.service.(tinker.Unloader)
	if !ok {
		return nil
	}
	info, err := c.Info(ctx)
	if err != nil {
		return err
	}
	f, err := u.UnloadModel(ctx, info.ModelID)
	if err != nil {
		return err
	}
	_, err = f.Wait(ctx)
	return err
}

// fastest repeats work until its two best rates agree, or for probeTime, and returns the best, in tokens per second:
// what else the machine does only slows.
func fastest(work func() (tokens int, err error)) (float64, error) {
	best, second := 0.0, 0.0
	for i, begin := 0, time.Now(); ; i++ {
		start := time.Now()
		n, err := work()
		if err != nil {
			return 0, err
		}
		rate := float64(n) / max(time.Since(start).Seconds(), 1e-9)
		best, second = max(best, rate), max(second, min(best, rate))
		spent := time.Since(begin)
		if i > 0 && (spent >= probeTime || spent >= probeLeast && second >= probeAgree*best) {
			return best, nil
		}
	}
}
