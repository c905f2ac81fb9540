package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// BurstResult is the times of requests that were all outstanding at once.
type BurstResult struct {
	Samples, Passes int           // asked for, and answered
	Accepted        time.Duration // until the last was accepted
	Answered        time.Duration // until the last was answered
	Outstanding     int           // most requests that were accepted and not answered
	Tokens          int           // drawn
}

const (
	burstTokens  = 32  // of a training request
	sampleTokens = 256 // of a sample
	kinds        = 4   // of requests, by prompt and seed
	perRun       = 128 // training requests of one run
	perSampler   = 512 // samples of one sampler: a client limits the samples in flight of one
)

// Samples asks for n samples at once.
func (l *Load) Samples(ctx context.Context, n int) (BurstResult, error) { return l.Burst(ctx, n, 0) }

// Burst sends samples and forward passes with gradients without waiting for any result, and then takes every one. The
// first training request of each run is sent when all others are accepted, so that all of them are outstanding
// together.
func (l *Load) Burst(ctx context.Context, samples, passes int) (BurstResult, error) {
	s := &burst{l: l, BurstResult: BurstResult{Samples: samples, Passes: passes}}
	for range (passes + perRun - 1) / perRun {
		m, err := l.run(ctx)
		if err != nil {
			return s.BurstResult, err
		}
		s.runs = append(s.runs, m)
	}
	for range (samples + perSampler - 1) / perSampler {
		c, err := l.svc.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: l.base})
		if err != nil {
			return s.BurstResult, err
		}
		s.samplers = append(s.samplers, c)
	}
	if err := s.reference(ctx); err != nil {
		return s.BurstResult, err
	}
	return s.BurstResult, s.run(ctx)
}

type burst struct {
	BurstResult
	l        *Load
	runs     []tinker.TrainingClient
	samplers []tinker.SamplingClient

	drawn  [kinds]tinker.SampledSequence // the answer to each kind of request alone
	passed [kinds][]float32

	open, most, tokens atomic.Int64
}

// reference sends one request of each kind alone. The answers to all others must be equal to these.
func (s *burst) reference(ctx context.Context) error {
	for k := range kinds {
		if !s.l.exact {
			return nil
		}
		if len(s.samplers) > 0 {
			r, err := tinker.Sample(ctx, s.samplers[0], sampleRequest(k))
			if err != nil {
				return err
			}
			s.drawn[k] = r.Sequences[0]
		}
	}
	if len(s.runs) == 0 {
		return nil
	}
	m, err := s.l.run(ctx)
	for k := 0; k < kinds && err == nil; k++ {
		var f *tinker.Future[tinker.ForwardOutput]
		var o tinker.ForwardOutput
		if f, err = m.ForwardBackward(ctx, batch(0, burstTokens, k)); err == nil {
			if o, err = f.Wait(ctx); err == nil {
				s.passed[k] = o.LossFnOutputs[0][tinker.Logprobs].Float
			}
		}
	}
	return err
}

func sampleRequest(kind int) tinker.SampleRequest {
	p, seed := tinker.DefaultSampling(), uint64(kind)
	p.MaxTokens, p.Seed = sampleTokens, &seed
	p.StopStrings = []string{"\x00"} // instead of the model's own end tokens, which may come soon
	return tinker.SampleRequest{Prompt: datum(12, kind).ModelInput, NumSamples: 1, Params: p}
}

// run sends everything and takes the answers.
func (s *burst) run(ctx context.Context) error {
	begun := time.Now()
	answers, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := s.send(ctx, answers)
	s.Accepted = time.Since(begun)
	if err != nil {
		cancel() // the first request of a run may be missing, so the others would wait forever
		answers.Wait()
		return err
	}
	err = answers.Wait()
	s.Answered, s.Outstanding, s.Tokens = time.Since(begun), int(s.most.Load()), int(s.tokens.Load())
	return err
}

// send sends everything; the runs' first requests go last.
func (s *burst) send(ctx context.Context, answers *errgroup.Group) error {
	var sending errgroup.Group
	for i, m := range s.runs {
		sending.Go(func() error {
			for seq := min(perRun, s.Passes-i*perRun); seq > 1; seq-- {
				if err := s.sendPass(ctx, answers, m, int64(seq)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i, c := range s.samplers {
		sending.Go(func() error { return s.sendSamples(ctx, answers, c, min(perSampler, s.Samples-i*perSampler)) })
	}
	if err := sending.Wait(); err != nil {
		return err
	}
	for _, m := range s.runs {
		if err := s.sendPass(ctx, answers, m, 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *burst) sendPass(ctx context.Context, answers *errgroup.Group, m tinker.TrainingClient, seq int64) error {
	kind := int(seq) % kinds
	f, err := m.ForwardBackward(ctx, batch(seq, burstTokens, kind))
	if err != nil {
		return err
	}
	s.opened()
	answers.Go(func() error {
		defer s.open.Add(-1)
		o, err := f.Wait(ctx)
		if err == nil {
			err = check(o, burstTokens)
		}
		if err == nil && s.l.exact && !slices.Equal(o.LossFnOutputs[0][tinker.Logprobs].Float, s.passed[kind]) {
			err = fmt.Errorf("load: request %d of a run has other logprobs than the same request alone", seq)
		}
		return err
	})
	return nil
}

func (s *burst) sendSamples(ctx context.Context, answers *errgroup.Group, c tinker.SamplingClient, n int) error {
	var sending errgroup.Group
	sending.SetLimit(32)
	for i := range n {
		sending.Go(func() error {
			kind := i % kinds
			f, err := c.Sample(ctx, sampleRequest(kind))
			if err != nil {
				return err
			}
			s.opened()
			answers.Go(func() error {
				defer s.open.Add(-1)
				r, err := f.Wait(ctx)
				if err != nil {
					return err
				}
				return s.checkSample(r, kind)
			})
			return nil
		})
	}
	return sending.Wait()
}

func (s *burst) checkSample(r tinker.SampleResponse, kind int) error {
	if len(r.Sequences) != 1 || len(r.Sequences[0].Tokens) > sampleTokens ||
		len(r.Sequences[0].Tokens) != len(r.Sequences[0].Logprobs) {
		return fmt.Errorf("load: one sample of at most %d tokens was requested; the answer is %+v", sampleTokens,
			r.Sequences)
	}
	q, want := r.Sequences[0], s.drawn[kind]
	for _, lp := range q.Logprobs {
		if !(lp <= 0) || math.IsInf(float64(lp), 0) {
			return fmt.Errorf("load: a sample's logprob is %v", lp)
		}
	}
	if s.l.exact && !(slices.Equal(q.Tokens, want.Tokens) && slices.Equal(q.Logprobs, want.Logprobs)) {
		return fmt.Errorf("load: a sample with seed %d is %v, alone it was %v", kind, q.Tokens, want.Tokens)
	}
	s.tokens.Add(int64(len(q.Tokens)))
	return nil
}

// opened counts an accepted request.
func (s *burst) opened() {
	n := s.open.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
}
