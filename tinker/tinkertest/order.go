package tinkertest

import (
	"errors"
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func (s *suite) create() {
	c := s.model(0)
	info, err := c.Info(s.ctx)
	if err != nil || info.BaseModel != s.base || info.BaseDtype != "bf16" || info.LoRA.Rank != 4 ||
		info.NextSeqID != 1 {
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
	s.logprobs(a, some...) // while b waits, another model's request is answered
	select {
	case <-opt.Done():
		s.Error("request 2 ran before request 1 arrived")
	default:
	}
	fb := crossEntropy(datum(some...))
	fb.SeqID = 1
	first, ferr := b.ForwardBackward(s.ctx, fb)
	wait(s, first, ferr)
	wait(s, opt, oerr)
	if got := wait(s, last, lerr).LossFnOutputs[0][tinker.Logprobs].Float; s.caps.ExactLogprobs &&
		!sameBits(got, want) {
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
	if again := wait(s, f, err); !sameBits(again.LossFnOutputs[0][tinker.Logprobs].Float,
		one.LossFnOutputs[0][tinker.Logprobs].Float) {
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
		"missing input": with(func(r *tinker.ForwardRequest) {
			delete(r.Data[1].LossFnInputs,
				tinker.Advantages)
		}),
		"wrong length": with(func(r *tinker.ForwardRequest) {
			r.Data[1].LossFnInputs[tinker.Logprobs] = tinker.Floats(make([]float32, 3))
		}),
		"wrong dtype": with(func(r *tinker.ForwardRequest) {
			r.Data[1].LossFnInputs[tinker.Logprobs] = tinker.TokenInts(
				some[1:])
		}),
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
