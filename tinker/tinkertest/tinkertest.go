// Package tinkertest is the contract of package tinker as a suite: every implementation passes it.
package tinkertest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Run runs the suite. open returns a fresh service with at least one base model of some 100 to 5,000 tokens' vocabulary
// and a context of 64 or more, which names an end-of-turn token; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) tinker.Service) {
	for _, tt := range []struct {
		name string
		test func(*suite)
	}{
		{"Create", (*suite).create},
		{"Order", (*suite).order},
		{"Repeat", (*suite).repeat},
		{"Failure", (*suite).failure},
		{"Accumulate", (*suite).accumulate},
		{"Learn", (*suite).learn},
		{"Losses", (*suite).losses},
		{"MaskedLosses", (*suite).maskedLosses},
		{"Dimuon", (*suite).dimuon},
		{"TwoTargets", (*suite).twoTargets},
		{"Entropy", (*suite).entropy},
		{"Custom", (*suite).custom},
		{"Checkpoints", (*suite).checkpoints},
		{"Frozen", (*suite).frozen},
		{"Sample", (*suite).sample},
		{"SampleLimits", (*suite).sampleLimits},
		{"SampleErrors", (*suite).sampleErrors},
		{"PromptLogprobs", (*suite).promptLogprobs},
		{"TopSamples", (*suite).topSamples},
		{"Targets", (*suite).targets},
		{"Alternatives", (*suite).alternatives},
		{"NoStop", (*suite).noStop},
		{"Exact", (*suite).exact},
		{"Unload", (*suite).unload},
		{"Close", (*suite).close},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			s := &suite{T: t, ctx: ctx, svc: open(t)}
			defer s.svc.Close()
			caps, err := s.svc.Capabilities(ctx)
			if err != nil || len(caps.Models) == 0 {
				t.Fatalf("Capabilities: %d models, %v", len(caps.Models), err)
			}
			s.caps, s.base = caps, caps.Models[0].Name
			tt.test(s)
		})
	}
}

type suite struct {
	*testing.T
	ctx  context.Context
	svc  tinker.Service
	caps tinker.Capabilities
	base string
}

func (s *suite) model(seq int64) tinker.TrainingClient {
	s.Helper()
	c, err := s.svc.CreateModel(s.ctx, s.createRequest(seq))
	if err != nil {
		s.Fatalf("CreateModel: %v", err)
	}
	return c
}

func (s *suite) createRequest(seq int64) tinker.CreateModelRequest {
	seed := int64(7)
	return tinker.CreateModelRequest{SessionID: "suite", ModelSeqID: seq, BaseModel: s.base,
		LoRA: tinker.LoRA{Rank: 4, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}}
}

// wait is the value of a future whose request was accepted.
func wait[T any](s *suite, f *tinker.Future[T], err error) T {
	s.Helper()
	v, err := result(s, f, err)
	if err != nil {
		s.Fatal(err)
	}
	return v
}

func result[T any](s *suite, f *tinker.Future[T], err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return f.Wait(s.ctx)
}

// datum is a training sequence over tokens with the inputs that every loss takes.
func datum(tokens ...int32) tinker.Datum {
	n := len(tokens) - 1
	w, q, a := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		w[i], q[i], a[i] = 1, -2-float32(float32(i)/8), float32(i%3)-0.75
	}
	return tinker.Datum{ModelInput: tinker.Text(tokens[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(tokens[1:]), tinker.Weights: tinker.Floats(w),
		tinker.Logprobs: tinker.Floats(q), tinker.Advantages: tinker.Floats(a),
	}}
}

func crossEntropy(data ...tinker.Datum) tinker.ForwardRequest {
	for i, d := range data {
		in := map[string]tinker.Tensor{tinker.TargetTokens: d.LossFnInputs[tinker.TargetTokens], tinker.Weights: d.LossFnInputs[tinker.Weights]}
		data[i] = tinker.Datum{ModelInput: d.ModelInput, LossFnInputs: in}
	}
	return tinker.ForwardRequest{Data: data, LossFn: tinker.CrossEntropy}
}

func adam(lr float64) tinker.OptimStepRequest {
	p := tinker.DefaultAdam()
	p.LearningRate, p.Eps = lr, 1e-8
	return tinker.OptimStepRequest{Adam: p}
}

func (s *suite) logprobs(c tinker.TrainingClient, tokens ...int32) []float32 {
	s.Helper()
	f, err := c.Forward(s.ctx, crossEntropy(datum(tokens...)))
	return wait(s, f, err).LossFnOutputs[0][tinker.Logprobs].Float
}

func (s *suite) train(c tinker.TrainingClient, lr float64, tokens ...int32) {
	s.Helper()
	f, err := c.ForwardBackward(s.ctx, crossEntropy(datum(tokens...)))
	o, oerr := c.OptimStep(s.ctx, adam(lr))
	wait(s, f, err)
	wait(s, o, oerr)
}

func (s *suite) wantUser(what string, err error) {
	s.Helper()
	if err == nil || tinker.CategoryOf(err) != tinker.User {
		s.Errorf("%s: error %v of category %s, want a user error", what, err, tinker.CategoryOf(err))
	}
}

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

var some = []int32{5, 17, 3, 42, 9, 9, 60, 1, 33, 12}

func (s *suite) create() {
	c := s.model(0)
	info, err := c.Info(s.ctx)
	if err != nil || info.BaseModel != s.base || info.LoRA.Rank != 4 || info.NextSeqID != 1 {
		s.Errorf("Info = %+v, %v", info, err)
	}
	s.train(c, 1e-2, some...)
	again := s.model(0) // the same key and request: the same model as it is now
	i2, _ := again.Info(s.ctx)
	if i2.ModelID != info.ModelID || i2.NextSeqID != 3 {
		s.Errorf("the same request made %s at seq_id %d, want %s at 3", i2.ModelID, i2.NextSeqID, info.ModelID)
	}
	other := s.createRequest(0)
	other.LoRA.Rank = 8
	_, err = s.svc.CreateModel(s.ctx, other)
	s.wantUser("another request with the same key", err)
	for _, bad := range []func(*tinker.CreateModelRequest){
		func(r *tinker.CreateModelRequest) { r.BaseModel = "no/such-model" },
		func(r *tinker.CreateModelRequest) { r.LoRA.Rank = -1 },
		func(r *tinker.CreateModelRequest) {
			r.LoRA.TrainAttn, r.LoRA.TrainMLP, r.LoRA.TrainUnembed = false, false, false
		},
	} {
		r := s.createRequest(99)
		bad(&r)
		_, err := s.svc.CreateModel(s.ctx, r)
		s.wantUser("CreateModel", err)
	}
}

func (s *suite) order() {
	a, b := s.model(0), s.model(1)
	s.train(a, 1e-2, some...)
	want := s.logprobs(a, some...)
	// the same requests, the later ones arriving first
	fwd := crossEntropy(datum(some...))
	fwd.SeqID = 3
	last, lerr := b.Forward(s.ctx, fwd)
	step := adam(1e-2)
	step.SeqID = 2
	opt, oerr := b.OptimStep(s.ctx, step)
	select {
	case <-opt.Done():
		s.Error("request 2 ran before request 1 arrived")
	case <-time.After(20 * time.Millisecond):
	}
	fb := crossEntropy(datum(some...))
	fb.SeqID = 1
	first, ferr := b.ForwardBackward(s.ctx, fb)
	wait(s, first, ferr)
	wait(s, opt, oerr)
	if got := wait(s, last, lerr).LossFnOutputs[0][tinker.Logprobs].Float; s.caps.ExactLogprobs && !sameBits(got, want) {
		s.Errorf("out of order: logprobs %v, want %v", got, want)
	}
}

func (s *suite) repeat() {
	c := s.model(0)
	fb := crossEntropy(datum(some...))
	fb.SeqID = 1
	f, err := c.ForwardBackward(s.ctx, fb)
	one := wait(s, f, err)
	step := adam(1e-2)
	step.SeqID = 2
	o, err := c.OptimStep(s.ctx, step)
	norm := wait(s, o, err).Metrics["grad_norm"]
	after := s.logprobs(c, some...)
	f, err = c.ForwardBackward(s.ctx, fb)
	if again := wait(s, f, err); !sameBits(again.LossFnOutputs[0][tinker.Logprobs].Float, one.LossFnOutputs[0][tinker.Logprobs].Float) {
		s.Error("a repeated request got another result")
	}
	o, err = c.OptimStep(s.ctx, step)
	if again := wait(s, o, err).Metrics["grad_norm"]; again != norm || norm <= 0 {
		s.Errorf("a repeated step reports gradient norm %v, the first %v", again, norm)
	}
	if now := s.logprobs(c, some...); !sameBits(now, after) {
		s.Error("repeating requests changed the model")
	}
	step.Adam.LearningRate = 1
	_, err = result2(s, c, step)
	s.wantUser("another request with a used seq_id", err)
}

func result2(s *suite, c tinker.TrainingClient, r tinker.OptimStepRequest) (tinker.OptimStepOutput, error) {
	f, err := c.OptimStep(s.ctx, r)
	return result(s, f, err)
}

func (s *suite) failure() {
	c := s.model(0)
	before := s.logprobs(c, some...)
	with := func(change func(*tinker.ForwardRequest)) tinker.ForwardRequest {
		r := tinker.ForwardRequest{LossFn: tinker.PPO, Data: []tinker.Datum{datum(some...), datum(some...)}}
		change(&r)
		return r
	}
	for name, r := range map[string]tinker.ForwardRequest{
		"unknown loss":       with(func(r *tinker.ForwardRequest) { r.LossFn = "no_such_loss" }),
		"unknown config key": with(func(r *tinker.ForwardRequest) { r.LossFnConfig = map[string]float64{"clip": 1} }),
		"missing input":      with(func(r *tinker.ForwardRequest) { delete(r.Data[1].LossFnInputs, tinker.Advantages) }),
		"wrong length": with(func(r *tinker.ForwardRequest) {
			r.Data[1].LossFnInputs[tinker.Logprobs] = tinker.Floats(make([]float32, 3))
		}),
		"wrong dtype": with(func(r *tinker.ForwardRequest) { r.Data[1].LossFnInputs[tinker.Logprobs] = tinker.TokenInts(some[1:]) }),
		"token beyond vocabulary": with(func(r *tinker.ForwardRequest) {
			r.Data[1].ModelInput = tinker.Text([]int32{1, 2, 3, 4, 5, 6, 7, 8, 1 << 30})
		}),
		"negative target": with(func(r *tinker.ForwardRequest) {
			r.Data[1].LossFnInputs[tinker.TargetTokens] = tinker.TokenInts([]int32{1, 2, 3, 4, 5, 6, 7, 8, -1})
		}),
		"not finite": with(func(r *tinker.ForwardRequest) {
			r.Data[1].LossFnInputs[tinker.Advantages].Float[2] = float32(math.NaN())
		}),
		"empty": with(func(r *tinker.ForwardRequest) { r.Data = nil }),
	} {
		f, err := c.ForwardBackward(s.ctx, r)
		_, err = result(s, f, err)
		s.wantUser(name, err)
	}
	o, err := c.OptimStep(s.ctx, adam(1e-2)) // nothing was added to the gradient by any of them
	if n := wait(s, o, err).Metrics["grad_norm"]; n != 0 {
		s.Errorf("after failed requests the gradient has norm %v", n)
	}
	if now := s.logprobs(c, some...); !sameBits(now, before) {
		s.Error("failed requests changed the model")
	}
}

func (s *suite) accumulate() {
	a, b := s.model(0), s.model(1)
	d1, d2, d3 := datum(some...), datum(8, 3, 5, 5, 20), datum(40, 2, 11)
	f, err := a.ForwardBackward(s.ctx, crossEntropy(d1, d2, d3))
	wait(s, f, err)
	for _, data := range [][]tinker.Datum{{d1}, {d2, d3}} { // the same datums in the same order, cut into two requests
		f, err := b.ForwardBackward(s.ctx, crossEntropy(data...))
		wait(s, f, err)
	}
	fo, err := b.Forward(s.ctx, crossEntropy(d2)) // adds nothing
	wait(s, fo, err)
	oa, aerr := a.OptimStep(s.ctx, adam(1e-2))
	ob, berr := b.OptimStep(s.ctx, adam(1e-2))
	na, nb := wait(s, oa, aerr).Metrics["grad_norm"], wait(s, ob, berr).Metrics["grad_norm"]
	if na == 0 || s.caps.ExactLogprobs && na != nb || math.Abs(na-nb) > 1e-3*na {
		s.Errorf("gradient norm %v in one request, %v in two", na, nb)
	}
	if la, lb := s.logprobs(a, some...), s.logprobs(b, some...); s.caps.ExactLogprobs && !sameBits(la, lb) {
		s.Errorf("after the step: logprobs %v and %v", la, lb)
	}
}

func (s *suite) learn() {
	c := s.model(0)
	var losses []float64
	for range 12 {
		f, err := c.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
		o, oerr := c.OptimStep(s.ctx, adam(2e-2)) // right behind, before the first result
		losses = append(losses, wait(s, f, err).Metrics["loss:sum"])
		wait(s, o, oerr)
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < 0.7*first) {
		s.Errorf("loss went from %v to %v in 12 steps on one sequence", first, last)
	}
}

// dimuon: the other optimizer of a service learns too, and each takes its own settings only. A refused step leaves the
// gradient.
func (s *suite) dimuon() {
	if !s.caps.ExactLogprobs {
		s.Skip("asked of this project's services only")
	}
	req := s.createRequest(0)
	req.OptimizerType = tinker.Dimuon
	c, err := s.svc.CreateModel(s.ctx, req)
	if err != nil {
		s.Fatal(err)
	}
	p := tinker.DefaultDimuon()
	p.LearningRate = 2e-2
	var losses []float64
	for range 12 {
		f, err := c.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
		losses = append(losses, wait(s, f, err).Metrics["loss:sum"])
		o, err := c.OptimStep(s.ctx, adam(1e-2))
		if err == nil {
			_, err = o.Wait(s.ctx)
		}
		if tinker.CategoryOf(err) != tinker.User {
			s.Errorf("AdamW's settings for Dimuon: %v, want a user error", err)
		}
		o, err = c.OptimStep(s.ctx, tinker.OptimStepRequest{Dimuon: &p})
		if norm := wait(s, o, err).Metrics["grad_norm"]; !(norm > 0) {
			s.Errorf("gradient norm %v", norm)
		}
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < 0.7*first) {
		s.Errorf("loss went from %v to %v in 12 steps on one sequence", first, last)
	}
}

func (s *suite) custom() {
	a, b := s.model(0), s.model(1)
	d := datum(some...)
	w := d.LossFnInputs[tinker.Weights].Float
	want := s.logprobs(a, some...)
	f, err := a.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
	wait(s, f, err)
	g, used, err := tinker.ForwardBackwardCustom(s.ctx, b, tinker.ForwardRequest{Data: []tinker.Datum{d}}, nil, func(lp [][]float32) ([][]float32, error) {
		if s.caps.ExactLogprobs && !sameBits(lp[0], want) {
			s.Errorf("the custom loss got logprobs %v, want %v", lp[0], want)
		}
		grad := make([]float32, len(w))
		for i := range w {
			grad[i] = -w[i] // of the same loss
		}
		return [][]float32{grad}, nil
	})
	wait(s, g, err)
	if used != 2 {
		s.Errorf("the custom loss took %d seq_ids, want 2", used)
	}
	oa, aerr := a.OptimStep(s.ctx, adam(1e-2))
	ob, berr := b.OptimStep(s.ctx, adam(1e-2))
	wait(s, oa, aerr)
	wait(s, ob, berr)
	if la, lb := s.logprobs(a, some...), s.logprobs(b, some...); s.caps.ExactLogprobs && !sameBits(la, lb) {
		s.Errorf("after the step: logprobs %v and %v", la, lb)
	}
}

func (s *suite) close() {
	c := s.model(0)
	f, err := c.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
	if err != nil {
		s.Fatal(err)
	}
	if err := s.svc.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
	select {
	case <-f.Done():
	case <-s.ctx.Done():
		s.Error("Close left a future unresolved")
	}
	if _, err := c.OptimStep(s.ctx, adam(1e-2)); !errors.Is(err, tinker.ErrClosed) {
		s.Errorf("OptimStep after Close: %v, want ErrClosed", err)
	}
	if err := s.svc.Close(); err != nil {
		s.Errorf("a second Close: %v", err)
	}
}
