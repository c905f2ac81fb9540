package tinkertest

import (
	"errors"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func (s *suite) sampler(req tinker.SamplingClientRequest) tinker.SamplingClient {
	s.Helper()
	c, err := s.svc.SamplingClient(s.ctx, req)
	if err != nil {
		s.Fatalf("SamplingClient(%+v): %v", req, err)
	}
	return c
}

func request(n, maxTokens int, seed uint64, prompt ...int32) tinker.SampleRequest {
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed = maxTokens, &seed
	p.StopTokens = []int32{0} // so that no end-of-turn token ends the samples early
	return tinker.SampleRequest{Prompt: tinker.Text(prompt), NumSamples: n, Params: p}
}

func (s *suite) draw(c tinker.SamplingClient, r tinker.SampleRequest) tinker.SampleResponse {
	s.Helper()
	f, err := c.Sample(s.ctx, r)
	return wait(s, f, err)
}

func (s *suite) save(c tinker.TrainingClient, name string) string {
	s.Helper()
	f, err := c.SaveWeightsForSampler(s.ctx, tinker.SaveRequest{Name: name})
	return wait(s, f, err).Path
}

func (s *suite) checkpoints() {
	c := s.model(0)
	s.train(c, 1e-2, some...)
	f, err := c.SaveState(s.ctx, tinker.SaveRequest{Name: "one"})
	path := wait(s, f, err).Path
	if p, err := tinker.ParsePath(path); err != nil || p.Kind != tinker.KindState || p.Name != "one" {
		s.Errorf("SaveState gave path %q, %v", path, err)
	}
	s.train(c, 1e-2, some...)
	want := s.logprobs(c, some...)
	f, err = c.SaveState(s.ctx, tinker.SaveRequest{Name: "one"})
	_, err = result(s, f, err)
	s.wantUser("a name that is taken", err)
	if !errors.Is(err, tinker.ErrExists) {
		s.Logf("note: error %v does not wrap ErrExists", err)
	}
	// from the state with its optimizer, the same training gives the same model
	d, err := s.svc.CreateModelFromState(s.ctx, tinker.CreateFromStateRequest{SessionID: "suite", ModelSeqID: 5,
		Path: path, Optimizer: true})
	if err != nil {
		s.Fatal(err)
	}
	s.train(d, 1e-2, some...)
	if got := s.logprobs(d, some...); s.caps.ExactLogprobs && !sameBits(got, want) {
		s.Errorf("continued from the state: logprobs %v, want %v", got, want)
	}
	l, err := c.LoadState(s.ctx, tinker.LoadRequest{Path: path, Optimizer: true})
	wait(s, l, err)
	s.train(c, 1e-2, some...)
	if got := s.logprobs(c, some...); s.caps.ExactLogprobs && !sameBits(got, want) {
		s.Errorf("loaded back: logprobs %v, want %v", got, want)
	}
	if err := s.svc.DeleteCheckpoint(s.ctx, path); err != nil {
		s.Errorf("DeleteCheckpoint: %v", err)
	}
	if err := s.svc.DeleteCheckpoint(s.ctx, path); !errors.Is(err, tinker.ErrNotFound) {
		s.Errorf("deleting twice: %v, want ErrNotFound", err)
	}
	l, err = c.LoadState(s.ctx, tinker.LoadRequest{Path: path})
	if _, err = result(s, l, err); !errors.Is(err, tinker.ErrNotFound) {
		s.Errorf("loading a deleted state: %v, want ErrNotFound", err)
	}
	for _, name := range []string{"", "a/b", "..", "x\x00"} {
		f, err := c.SaveState(s.ctx, tinker.SaveRequest{Name: name})
		_, err = result(s, f, err)
		s.wantUser("checkpoint name "+name, err)
	}
}

// frozen: a sampler keeps the weights of its SeqID.
func (s *suite) frozen() {
	c := s.model(0)
	s.train(c, 2e-2, some...)
	early := s.sampler(tinker.SamplingClientRequest{ModelPath: s.save(c, "early")})
	r := request(2, 8, 11, some...)
	want := s.draw(early, r)
	for range 3 {
		s.train(c, 5e-2, some...)
	}
	path := s.save(c, "late")
	late := s.sampler(tinker.SamplingClientRequest{ModelPath: path})
	if got := s.draw(early, r); !slices.Equal(got.Sequences[1].Tokens, want.Sequences[1].Tokens) ||
		!sameBits(got.Sequences[1].Logprobs, want.Sequences[1].Logprobs) {
		s.Error("training changed a frozen sampler")
	}
	lp, err := tinker.ComputeLogprobs(s.ctx, late, tinker.Text(some))
	lq, err2 := tinker.ComputeLogprobs(s.ctx, early, tinker.Text(some))
	if err != nil || err2 != nil || sameBits(lp[1:], lq[1:]) {
		s.Errorf("a later sampler has the same logprobs as an early one (%v, %v)", err, err2)
	}
	if err := s.svc.DeleteCheckpoint(s.ctx, path); err != nil {
		s.Error(err)
	}
	s.draw(late, r) // an open client keeps its weights
	if _, err := s.svc.SamplingClient(s.ctx, tinker.SamplingClientRequest{ModelPath: path}); !errors.Is(err,
		tinker.ErrNotFound) {
		s.Errorf("SamplingClient of a deleted path: %v, want ErrNotFound", err)
	}
}

func (s *suite) sample() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	a := s.draw(c, request(4, 12, 3, some...))
	if len(a.Sequences) != 4 {
		s.Fatalf("%d sequences, want 4", len(a.Sequences))
	}
	for i, q := range a.Sequences {
		if len(q.Tokens) == 0 || len(q.Tokens) > 12 || len(q.Logprobs) != len(q.Tokens) {
			s.Errorf("sample %d: %d tokens, %d logprobs", i, len(q.Tokens), len(q.Logprobs))
		}
		for _, lp := range q.Logprobs {
			if !(lp <= 0) || math.IsInf(float64(lp), 0) {
				s.Errorf("sample %d: logprob %v", i, lp)
			}
		}
	}
	if slices.Equal(a.Sequences[0].Tokens, a.Sequences[1].Tokens) &&
		slices.Equal(a.Sequences[0].Tokens, a.Sequences[2].Tokens) {
		s.Error("the samples of a request are all alike")
	}
	// the same seed again, beside other work: the same bits; and sample i does not depend on how many are drawn
	f1, err1 := c.Sample(s.ctx, request(3, 12, 99, 4, 8, 15))
	f2, err2 := c.Sample(s.ctx, request(4, 12, 3, some...))
	f3, err3 := c.Sample(s.ctx, request(2, 12, 3, some...))
	wait(s, f1, err1)
	for _, b := range []tinker.SampleResponse{wait(s, f2, err2), wait(s, f3, err3)} {
		for i, q := range b.Sequences {
			if !slices.Equal(q.Tokens, a.Sequences[i].Tokens) || !sameBits(q.Logprobs, a.Sequences[i].Logprobs) {
				s.Errorf("sample %d of the same request differs: %v, first %v", i, q, a.Sequences[i])
			}
		}
	}
	if b := s.draw(c, request(4, 12, 4, some...)); slices.Equal(a.Sequences[0].Tokens, b.Sequences[0].Tokens) &&
		slices.Equal(a.Sequences[1].Tokens, b.Sequences[1].Tokens) {
		s.Error("another seed gives the same samples")
	}
	r := request(1, 12, 3, some...)
	r.Params.Seed = nil
	s.draw(c, r)
	greedy := request(2, 12, 3, some...)
	greedy.Params.Temperature = 0
	g := s.draw(c, greedy)
	if !slices.Equal(g.Sequences[0].Tokens, g.Sequences[1].Tokens) {
		s.Error("two greedy samples differ")
	}
	one := request(1, 12, 3, some...)
	one.Params.TopK = 1
	if k := s.draw(c, one); !slices.Equal(k.Sequences[0].Tokens, g.Sequences[0].Tokens) {
		s.Error("top_k 1 is not greedy")
	}
}

func (s *suite) sampleLimits() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	a := s.draw(c, request(1, 12, 3, some...)).Sequences[0]
	if a.StopReason == tinker.StopLength && len(a.Tokens) != 12 {
		s.Errorf("stopped by length after %d tokens of 12", len(a.Tokens))
	}
	if len(a.Tokens) < 6 {
		s.Skip("the sample ended too early to test stops")
	}
	stop := request(1, 12, 3, some...)
	stop.Params.StopTokens = []int32{a.Tokens[4]}
	first := slices.Index(a.Tokens, a.Tokens[4])
	b := s.draw(c, stop).Sequences[0]
	if b.StopReason != tinker.StopStop || !slices.Equal(b.Tokens, a.Tokens[:first+1]) ||
		len(b.Logprobs) != len(b.Tokens) {
		s.Errorf("with stop token %d: %v (%s), want %v with the stop", a.Tokens[4], b.Tokens, b.StopReason,
			a.Tokens[:first+1])
	}
	nucleus := request(1, 12, 3, some...)
	nucleus.Params.TopP = 1e-9
	greedy := request(1, 12, 3, some...)
	greedy.Params.Temperature = 0
	if x, y := s.draw(c, nucleus).Sequences[0].Tokens, s.draw(c, greedy).Sequences[0].Tokens; !slices.Equal(x, y) {
		s.Errorf("top_p 1e-9 gives %v, greedy %v", x, y)
	}
}

func (s *suite) sampleErrors() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	with := func(change func(*tinker.SampleRequest)) tinker.SampleRequest {
		r := request(1, 4, 1, some...)
		change(&r)
		return r
	}
	long := make([]int32, s.caps.Models[0].ContextLength)
	for name, r := range map[string]tinker.SampleRequest{
		"empty prompt":            with(func(r *tinker.SampleRequest) { r.Prompt = tinker.ModelInput{} }),
		"token beyond vocabulary": with(func(r *tinker.SampleRequest) { r.Prompt = tinker.Text([]int32{1 << 30}) }),
		"negative temperature":    with(func(r *tinker.SampleRequest) { r.Params.Temperature = -1 }),
		"top_p above 1":           with(func(r *tinker.SampleRequest) { r.Params.TopP = 1.5 }),
		"top_k 0":                 with(func(r *tinker.SampleRequest) { r.Params.TopK = 0 }),
		"top samples of -1":       with(func(r *tinker.SampleRequest) { r.TopKSampleLogprobs = -1 }),
		"top samples beyond":      with(func(r *tinker.SampleRequest) { r.TopKSampleLogprobs = 1 << 30 }),
		"too many cells": with(func(r *tinker.SampleRequest) {
			r.TopKSampleLogprobs, r.NumSamples = 100, 4096
			r.Params.MaxTokens = 48
		}),
		"alternatives of -1":  with(func(r *tinker.SampleRequest) { r.PromptAltTokens = -1 }),
		"negative max_tokens": with(func(r *tinker.SampleRequest) { r.Params.MaxTokens = -3 }),
		"beyond the context":  with(func(r *tinker.SampleRequest) { r.Prompt = tinker.Text(long) }),
	} {
		f, err := c.Sample(s.ctx, r)
		_, err = result(s, f, err)
		s.wantUser(name, err)
	}
	for _, req := range []tinker.SamplingClientRequest{{}, {BaseModel: "no/such-model"}, {ModelPath: "not a path"}} {
		_, err := s.svc.SamplingClient(s.ctx, req)
		s.wantUser("SamplingClient", err)
	}
}

func (s *suite) promptLogprobs() {
	c := s.sampler(tinker.SamplingClientRequest{BaseModel: s.base})
	lp, err := tinker.ComputeLogprobs(s.ctx, c, tinker.Text(some))
	if err != nil {
		s.Fatal(err)
	}
	m := s.model(0) // its adapter has B = 0: the base model
	if want := s.logprobs(m, some...); s.caps.ExactLogprobs && !sameBits(lp[1:], want) {
		s.Errorf("prompt logprobs %v, forward gives %v", lp[1:], want)
	}
	r := request(1, 1, 1, some...)
	r.TopKPromptLogprobs = 3
	top := s.draw(c, r).TopKPromptLogprobs
	if len(top) != len(some) || top[0] != nil {
		s.Fatalf("top-k prompt logprobs for %d positions, want %d with none at 0", len(top), len(some))
	}
	for j, row := range top[1:] {
		if len(row) != 3 || row[0].Logprob < row[1].Logprob || row[1].Logprob < row[2].Logprob ||
			row[0].Logprob < lp[j+1] {
			s.Errorf("position %d: %v beside logprob %v", j+1, row, lp[j+1])
		}
	}
}

// exact: a sampler reports the logprobs that training computes for the same tokens at the same weights.
func (s *suite) exact() {
	if !s.caps.ExactLogprobs {
		s.Skip("the service does not promise it")
	}
	c := s.model(0)
	for step := range 4 {
		sampler := s.sampler(tinker.SamplingClientRequest{ModelPath: s.save(c, string(rune('a'+step)))})
		prompt := some[:3+step]
		res := s.draw(sampler, request(3, 20, uint64(step), prompt...))
		var data []tinker.Datum
		for _, q := range res.Sequences {
			data = append(data, datum(append(slices.Clone(prompt), q.Tokens...)...))
		}
		f, err := c.Forward(s.ctx, crossEntropy(slices.Clone(data)...))
		fwd := wait(s, f, err)
		f, err = c.ForwardBackward(s.ctx, crossEntropy(slices.Clone(data)...))
		fb := wait(s, f, err)
		for i, q := range res.Sequences {
			a, b := fwd.LossFnOutputs[i][tinker.Logprobs].Float, fb.LossFnOutputs[i][tinker.Logprobs].Float
			if !sameBits(a[len(prompt)-1:], q.Logprobs) || !sameBits(a, b) {
				s.Errorf("step %d sample %d: sampled %v, forward %v, forward_backward %v", step, i, q.Logprobs,
					a[len(prompt)-1:], b[len(prompt)-1:])
			}
		}
		o, err := c.OptimStep(s.ctx, adam(3e-2))
		wait(s, o, err)
	}
}
