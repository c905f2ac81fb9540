package tinkertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Script is a training script that repeats every kind of request: training, named samplers and seeded samples,
// states that are saved, loaded, deleted or expire, and models created from states. It returns every answer to the last
// bit. Services with the same weights give the same answers, even over crashes. name is the name of its session; steps
// must be at least 6.
func Script(ctx context.Context, svc tinker.Service, base, name string, steps int) ([]string, error) {
	seed := int64(len(name))
	m, err := svc.CreateModel(ctx, tinker.CreateModelRequest{SessionID: name, BaseModel: base,
		LoRA: tinker.LoRA{Rank: 8, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	if err != nil {
		return nil, err
	}
	x := &script{svc: svc, ctx: ctx, name: name, m: m, seq: 1}
	for i := 1; i <= steps && x.err == nil; i++ {
		x.step(i)
	}
	x.finish()
	return x.said, x.err
}

// script is one script in progress. After an error it sends no more requests.
type script struct {
	svc   tinker.Service
	ctx   context.Context
	name  string
	m     tinker.TrainingClient
	seq   int64
	made  int64 // models
	state string
	brief string // a sampler that expires soon
	said  []string
	err   error
}

func (x *script) step(i int) {
	x.train(i)
	switch i % 6 {
	case 1:
		x.freeze(i)
	case 2:
		x.state = x.save(i)
	case 3:
		x.train(i + 100)
		f, err := x.load()
		say(x, f, err)
	case 4:
		x.branch(i)
	case 5:
		x.end(i)
	case 0:
		x.delete(x.state)
	}
}

// say waits for a result and records it.
func say[T any](x *script, f *tinker.Future[T], err error) (v T) {
	if x.err != nil {
		return v
	}
	if err == nil {
		v, err = f.Wait(x.ctx)
	}
	if err != nil {
		x.err = fmt.Errorf("script %s, request %d: %w", x.name, x.seq-1, err)
		return v
	}
	x.said = append(x.said, strings.ReplaceAll(fmt.Sprintf("%d %s", x.seq-1, bitsOf(v)), x.model(), "MODEL"))
	return v
}

// model is the id of the script's model, which a server draws.
func (x *script) model() string {
	info, err := x.m.Info(x.ctx)
	if err != nil && x.err == nil {
		x.err = err
	}
	return info.ModelID
}

// bitsOf returns a result as text that shows every bit.
func bitsOf(v any) string {
	switch v := v.(type) {
	case tinker.ForwardOutput:
		var b strings.Builder
		for _, lp := range v.LossFnOutputs[0][tinker.Logprobs].Float {
			fmt.Fprintf(&b, "%x ", math.Float32bits(lp))
		}
		return fmt.Sprintf("logprobs %sloss %x", b.String(), v.Metrics["loss:sum"])
	case tinker.OptimStepOutput:
		return fmt.Sprintf("norm %x", v.Metrics["grad_norm"])
	case tinker.SampleResponse:
		var b strings.Builder
		for _, q := range v.Sequences {
			fmt.Fprintf(&b, "%v %x ", q.Tokens, q.Logprobs)
		}
		return b.String()
	}
	return fmt.Sprintf("%+v", v)
}

// scriptBatch is one sequence, the same for the same kind.
func scriptBatch(seq int64, kind int) tinker.ForwardRequest {
	tokens := make([]int32, 33)
	for i := range tokens {
		tokens[i] = int32(32 + (i*7+kind*13)%64)
	}
	return tinker.ForwardRequest{SeqID: seq, LossFn: tinker.CrossEntropy, Data: []tinker.Datum{{
		ModelInput:   tinker.Text(tokens[:32]),
		LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts(tokens[1:])}}}}
}

func (x *script) next() int64 {
	x.seq++
	return x.seq - 1
}

func (x *script) train(kind int) {
	if x.err != nil {
		return
	}
	f, err := x.m.ForwardBackward(x.ctx, scriptBatch(x.next(), kind))
	say(x, f, err)
	adam := tinker.DefaultAdam()
	adam.LearningRate = 1e-3
	g, err := x.m.OptimStep(x.ctx, tinker.OptimStepRequest{SeqID: x.next(), Adam: adam})
	say(x, g, err)
}

// freeze saves a sampler and draws from it.
func (x *script) freeze(i int) {
	f, err := x.m.SaveWeightsForSampler(x.ctx, tinker.SaveRequest{SeqID: x.next(), Name: fmt.Sprintf("sampler-%d", i)})
	path := say(x, f, err).Path
	if x.err != nil {
		return
	}
	c, err := x.svc.SamplingClient(x.ctx, tinker.SamplingClientRequest{ModelPath: path})
	if err != nil {
		x.err = err
		return
	}
	p, seed := tinker.DefaultSampling(), uint64(i)
	p.MaxTokens, p.Seed = 24, &seed
	p.StopStrings = []string{"\x00"} // instead of the model's own end tokens, which may come soon
	req := tinker.SampleRequest{Prompt: scriptBatch(1, i).Data[0].ModelInput, NumSamples: 3, Params: p,
		PromptLogprobs: true}
	drawn, err := c.Sample(x.ctx, req)
	say(x, drawn, err)
}

func (x *script) save(i int) string {
	f, err := x.m.SaveState(x.ctx, tinker.SaveRequest{SeqID: x.next(), Name: fmt.Sprintf("state-%d", i)})
	return say(x, f, err).Path
}

// load loads the last state.
func (x *script) load() (*tinker.Future[tinker.LoadOutput], error) {
	return x.m.LoadState(x.ctx, tinker.LoadRequest{SeqID: x.next(), Path: x.state, Optimizer: true})
}

// branch creates another model from the last state and trains it once.
func (x *script) branch(i int) {
	if x.err != nil {
		return
	}
	x.made++
	m, err := x.svc.CreateModelFromState(x.ctx, tinker.CreateFromStateRequest{SessionID: x.name, ModelSeqID: x.made,
		Path: x.state, Optimizer: i%4 == 0})
	if err != nil {
		x.err = err
		return
	}
	f, err := m.ForwardBackward(x.ctx, scriptBatch(1, i))
	say(x, f, err)
}

// end saves a sampler that expires after a second.
func (x *script) end(i int) {
	f, err := x.m.SaveWeightsForSampler(x.ctx, tinker.SaveRequest{SeqID: x.next(), Name: fmt.Sprintf("brief-%d", i),
		TTL: time.Second})
	x.brief = say(x, f, err).Path
}

// delete removes a state. A missing state was removed by a first attempt whose answer was lost.
func (x *script) delete(path string) {
	if x.err != nil {
		return
	}
	if err := x.svc.DeleteCheckpoint(x.ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		x.err = err
	}
}

// finish checks that deleted and expired checkpoints are gone.
func (x *script) finish() {
	if x.err == nil && x.brief != "" {
		x.gone(x.brief)
	}
	if info, err := x.m.Info(x.ctx); x.err == nil && (err != nil || info.NextSeqID != x.seq) {
		x.err = fmt.Errorf("script %s sent %d requests; the service knows %d (%v)", x.name, x.seq-1,
			info.NextSeqID-1, err)
	}
}

// gone waits until a path has expired.
func (x *script) gone(path string) {
	for range 100 {
		if _, err := x.svc.SamplingClient(x.ctx, tinker.SamplingClientRequest{ModelPath: path}); errors.Is(err,
			tinker.ErrNotFound) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	x.err = fmt.Errorf("script %s: %s did not expire after a second", x.name, path)
}
