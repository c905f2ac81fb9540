// Package tinkertest is the test suite for implementations of package tinker. It checks the contract of its
// interfaces.
package tinkertest

import (
	"context"
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
		{"Stream", (*suite).stream},
		{"Cancel", (*suite).cancel},
		{"Exact", (*suite).exact},
		{"Inflight", (*suite).inflight},
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

// wait returns the value of a future whose request must be accepted.
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

// datum is a training sequence over tokens with the inputs that every loss reads.
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
		in := map[string]tinker.Tensor{tinker.TargetTokens: d.LossFnInputs[tinker.TargetTokens],
			tinker.Weights: d.LossFnInputs[tinker.Weights]}
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
