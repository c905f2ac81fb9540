package spread

import (
	"context"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// With a pool, each sampling request goes to this process or to the pool, whichever has less to do for its speed. While
// there are fewer requests than machines, a request is cut into ranges of samples; sample k draws the same tokens
// wherever it is computed. A range that fails in the pool is sampled here.

// sampleShares counts the samples under way: expected tokens here and in the pool.
type sampleShares struct {
	here, away float64
	ranges     int // under way
}

// sampleRange is some of a request's samples.
type sampleRange struct {
	first, n int
	away     bool
}

// planSamples decides where the samples of a request are computed.
func (w *Spreader) planSamples(s *sampler.Request) []sampleRange {
	executors, speed := w.Pool.Executors(), w.Pool.Speed()/max(w.Pool.OwnSpeed(), 1e-9)
	w.mu.Lock()
	defer w.mu.Unlock()
	n, pieces := s.Samples(), 1
	if !w.PoolOnly {
		executors++
	}
	if free := executors - w.samples.ranges; free > 1 {
		pieces = min(n, free)
	}
	var list []sampleRange
	for i := range pieces {
		r := sampleRange{first: i * n / pieces}
		r.n = (i+1)*n/pieces - r.first
		cost := s.Cost(r.n)
		r.away = w.PoolOnly || speed > 0 && (w.samples.away+cost)/speed < w.samples.here+cost
		w.samples.add(r.away, cost, 1)
		list = append(list, r)
	}
	return list
}

func (w *sampleShares) add(away bool, cost float64, ranges int) {
	if away {
		w.away += cost
	} else {
		w.here += cost
	}
	w.ranges += ranges
}

// Submit accepts a request as scheduler.submit does, and computes it here or in the pool.
func (w *Spreader) Submit(s *sampler.Request, promised bool) error {
	if !s.SamplesAlone() || w.Pool.Executors() == 0 { // the pool computes whole samples, and nothing else
		return w.Scheduler.Submit(s, promised)
	}
	if err := s.Enter(w.Backlog, promised); err != nil {
		return err
	}
	list := w.planSamples(s)
	started := w.Group.Start(func() {
		defer s.Leave(w.Backlog)
		s.End(w.sampleRanges(s, list))
	})
	if !started {
		s.Leave(w.Backlog)
		for _, r := range list {
			w.sampled(s, r)
		}
		return lifetime.Closed()
	}
	return nil
}

// sampled records that a range is not under way any more.
func (w *Spreader) sampled(s *sampler.Request, r sampleRange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples.add(r.away, -s.Cost(r.n), -1)
}

// sampleRanges computes the ranges of a request at the same time. The error is the first range's that has one.
func (w *Spreader) sampleRanges(s *sampler.Request, list []sampleRange) error {
	var receipts executor.Receipts
	ctx, cancel := context.WithCancel(executor.WithTenant(s.Context(), s.Tenant()))
	defer cancel()
	errs := make([]error, len(list))
	done := make(chan struct{}, len(list))
	for i, r := range list {
		one := func() {
			defer func() { done <- struct{}{} }()
			defer w.sampled(s, r)
			if errs[i] = w.sampleRange(ctx, s, r, &receipts); errs[i] != nil {
				cancel()
			}
		}
		if i == len(list)-1 {
			one()
		} else if !w.Group.Start(one) {
			errs[i] = lifetime.Closed()
			w.sampled(s, r)
			done <- struct{}{}
		}
	}
	for range list {
		<-done
	}
	switch at := slices.IndexFunc(errs, func(err error) bool { return err != nil && err != context.Canceled }); {
	case w.Group.Closing():
		return lifetime.Closed()
	case s.Context().Err() != nil:
		return context.Cause(s.Context())
	case at >= 0:
		return errs[at]
	case !receipts.Use():
		w.Log.Warn("engine: a machine was found to be wrong; samples that it drew are drawn again here")
		return w.sampleHere(ctx, s, sampleRange{n: s.Samples()})
	}
	return nil
}

// sampleRange computes a range into the request's answer.
func (w *Spreader) sampleRange(ctx context.Context, s *sampler.Request, r sampleRange,
	receipts *executor.Receipts) error {
	if r.away {
		var own executor.Receipts // of no use if the result is none
		out, err := w.sampleAway(executor.WithReceipts(ctx, &own), s, r)
		if err == nil {
			s.Fill(r.first, out)
			receipts.Add(&own)
			return nil
		}
		if ctx.Err() != nil || w.Group.Closing() {
			return context.Canceled
		}
		w.Log.Warn("engine: samples that failed elsewhere are drawn here", "error", err)
	}
	return w.sampleHere(ctx, s, r)
}

// sampleHere computes a range in this process.
func (w *Spreader) sampleHere(ctx context.Context, s *sampler.Request, r sampleRange) error {
	out, err := w.Scheduler.Sample(ctx, s.Part(r.first, r.n))
	if err == nil {
		s.Fill(r.first, out)
	}
	return err
}

// sampleAway has the pool compute a range.
func (w *Spreader) sampleAway(ctx context.Context, s *sampler.Request,
	r sampleRange) ([]tinker.SampledSequence, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.Group.Context(), cancel)()
	v := s.Weights()
	name, err := v.Identify(w.Pool, w.Numerics)
	if err != nil {
		return nil, err
	}
	t := s.Task(r.first, r.n)
	if len(t.StopStrings) > 0 {
		if t.Tokens, err = v.Base.PinTokens(w.Pool); err != nil {
			return nil, err
		}
	}
	return w.Pool.Sample(ctx, name, t)
}
