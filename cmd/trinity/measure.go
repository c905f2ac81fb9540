package main

import (
	"os"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// measure loads the model into an engine as a run does, samples and trains for a few seconds, and prints the rates.
func (d *diagnosis) measure() error {
	tmp, err := os.MkdirTemp("", "trinity-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	models := map[string]engine.Model{d.cmd.Model: {Dir: d.dir}}
	e, err := engine.Open(engine.Options{Dir: tmp, Models: models, Threads: d.cmd.Threads})
	if err != nil {
		return err
	}
	defer e.Close()
	begin := time.Now()
	if _, _, err := d.sample(e, 1, 1); err != nil {
		return err
	}
	d.line("load", "%v", time.Since(begin).Round(time.Millisecond))
	one, tookOne, err := best(func() (int, time.Duration, error) { return d.sample(e, 1, 16) })
	if err != nil {
		return err
	}
	many, tookMany, err := best(func() (int, time.Duration, error) { return d.sample(e, d.cmd.Samples, 16) })
	if err != nil {
		return err
	}
	tokens, tookTrain, err := d.train(e)
	if err != nil {
		return err
	}
	d.line("speed", "%s tokens/s alone, %s tokens/s with %d samples together, %s tokens/s of training, on %d threads",
		rate(one, tookOne), rate(many, tookMany), d.cmd.Samples, rate(tokens, tookTrain), d.cmd.threads())
	return nil
}

// best repeats a measurement for a second, at most ten times, and returns the fastest: other load only slows it down.
func best(f func() (int, time.Duration, error)) (tokens int, took time.Duration, err error) {
	for i, begin := 0, time.Now(); i == 0 || i < 10 && time.Since(begin) < time.Second; i++ {
		n, t, err := f()
		if err != nil {
			return 0, 0, err
		}
		if i == 0 || float64(n)/float64(t) > float64(tokens)/float64(took) {
			tokens, took = n, t
		}
	}
	return tokens, took, nil
}

// sample draws n answers of up to most tokens and returns the number of tokens and the time. Only the end of the
// context ends an answer early.
func (d *diagnosis) sample(e *engine.Engine, n, most int) (int, time.Duration, error) {
	c, err := e.SamplingClient(d.ctx, tinker.SamplingClientRequest{BaseModel: d.cmd.Model})
	if err != nil {
		return 0, 0, err
	}
	p := tinker.DefaultSampling()
	seed := uint64(1)
	p.MaxTokens, p.Seed, p.StopTokens = most, &seed, []int32{int32(d.conf.Vocab - 1)}
	begin := time.Now()
	f, err := c.Sample(d.ctx, tinker.SampleRequest{Prompt: tinker.Text(d.tokens(16)), NumSamples: n, Params: p})
	if err != nil {
		return 0, 0, err
	}
	r, err := f.Wait(d.ctx)
	if err != nil {
		return 0, 0, err
	}
	tokens := 0
	for _, s := range r.Sequences {
		tokens += len(s.Tokens)
	}
	return tokens, time.Since(begin), nil
}

// train runs LoRA training steps on a few sequences.
func (d *diagnosis) train(e *engine.Engine) (int, time.Duration, error) {
	seed := int64(1)
	lora := tinker.LoRA{Rank: d.cmd.Rank, Alpha: float64(d.cmd.Rank), Seed: &seed,
		TrainAttn: true, TrainMLP: true, TrainUnembed: true}
	t, err := e.CreateModel(d.ctx, tinker.CreateModelRequest{BaseModel: d.cmd.Model, LoRA: lora})
	if err != nil {
		return 0, 0, err
	}
	const sequences, length = 4, 64
	var data []tinker.Datum
	for range sequences {
		ids := d.tokens(length + 1)
		targets, weights := make([]int64, length), make([]float32, length)
		for i := range targets {
			targets[i], weights[i] = int64(ids[i+1]), 1
		}
		data = append(data, tinker.Datum{ModelInput: tinker.Text(ids[:length]),
			LossFnInputs: map[string]tinker.Tensor{
				tinker.TargetTokens: tinker.Ints(targets), tinker.Weights: tinker.Floats(weights)}})
	}
	return best(func() (int, time.Duration, error) {
		begin := time.Now()
		f, err := t.ForwardBackward(d.ctx, tinker.ForwardRequest{Data: data, LossFn: tinker.CrossEntropy})
		if err != nil {
			return 0, 0, err
		}
		o, err := t.OptimStep(d.ctx, tinker.OptimStepRequest{Adam: tinker.DefaultAdam()})
		if err != nil {
			return 0, 0, err
		}
		if _, err := f.Wait(d.ctx); err != nil {
			return 0, 0, err
		}
		_, err = o.Wait(d.ctx)
		return sequences * length, time.Since(begin), err
	})
}

// tokens is a text of n tokens.
func (d *diagnosis) tokens(n int) []int32 {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = int32((i*7919 + 13) % d.conf.Vocab)
	}
	return ids
}
