package engine

import (
	"context"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
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
func (w *spreader) planSamples(s *samplingRequest) []sampleRange {
	executors, speed := w.pool.Executors(), w.pool.Speed()/max(w.pool.OwnSpeed(), 1e-9)
	w.mu.Lock()
	defer w.mu.Unlock()
	n, pieces := s.samples(), 1
	if !w.poolOnly {
		executors++
	}
	if free := executors - w.samples.ranges; free > 1 {
		pieces = min(n, free)
	}
	var list []sampleRange
	for i := range pieces {
		r := sampleRange{first: i * n / pieces}
		r.n = (i+1)*n/pieces - r.first
		cost := s.cost(r.n)
		r.away = w.poolOnly || speed > 0 && (w.samples.away+cost)/speed < w.samples.here+cost
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

// submit accepts a request as scheduler.submit does, and computes it here or in the pool.
func (w *spreader) submit(s *samplingRequest, promised bool) error {
	if !s.samplesAlone() || w.pool.Executors() == 0 { // the pool computes whole samples, and nothing else
		return w.scheduler.submit(s, promised)
	}
	if err := s.enter(w.backlog, promised); err != nil {
		return err
	}
	list := w.planSamples(s)
	started := w.group.start(func() {
		defer s.leave(w.backlog)
		s.end(w.sampleRanges(s, list))
	})
	if !started {
		s.leave(w.backlog)
		for _, r := range list {
			w.sampled(s, r)
		}
		return errClosed()
	}
	return nil
}

// sampled records that a range is not under way any more.
func (w *spreader) sampled(s *samplingRequest, r sampleRange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples.add(r.away, -s.cost(r.n), -1)
}

// sampleRanges computes the ranges of a request at the same time. The error is that of the first range that has one.
func (w *spreader) sampleRanges(s *samplingRequest, list []sampleRange) error {
	var receipts executor.Receipts
	ctx, cancel := context.WithCancel(executor.WithTenant(s.context(), s.tenant()))
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
		} else if !w.group.start(one) {
			errs[i] = errClosed()
			w.sampled(s, r)
			done <- struct{}{}
		}
	}
	for range list {
		<-done
	}
	switch at := slices.IndexFunc(errs, func(err error) bool { return err != nil && err != context.Canceled }); {
	case w.group.closing():
		return errClosed()
	case s.context().Err() != nil:
		return context.Cause(s.context())
	case at >= 0:
		return errs[at]
	case !receipts.Use():
		w.log.Warn("engine: a machine was found to be wrong; samples that it drew are drawn again here")
		return w.sampleHere(ctx, s, sampleRange{n: s.samples()})
	}
	return nil
}

// sampleRange computes a range into the request's answer.
func (w *spreader) sampleRange(ctx context.Context, s *samplingRequest, r sampleRange,
	receipts *executor.Receipts) error {
	if r.away {
		var own executor.Receipts // of no use if the result is none
		out, err := w.sampleAway(executor.WithReceipts(ctx, &own), s, r)
		if err == nil {
			s.fill(r.first, out)
			receipts.Add(&own)
			return nil
		}
		if ctx.Err() != nil || w.group.closing() {
			return context.Canceled
		}
		w.log.Warn("engine: samples that failed elsewhere are drawn here", "error", err)
	}
	return w.sampleHere(ctx, s, r)
}

// sampleHere computes a range in this process.
func (w *spreader) sampleHere(ctx context.Context, s *samplingRequest, r sampleRange) error {
	out, err := w.scheduler.sample(ctx, s.part(r.first, r.n))
	if err == nil {
		s.fill(r.first, out)
	}
	return err
}

// sampleAway has the pool compute a range.
func (w *spreader) sampleAway(ctx context.Context, s *samplingRequest,
	r sampleRange) ([]tinker.SampledSequence, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.group.context(), cancel)()
	v := s.weights()
	name, err := v.identify(w.pool, w.numerics)
	if err != nil {
		return nil, err
	}
	t := s.task(r.first, r.n)
	if len(t.StopStrings) > 0 {
		if t.Tokens, err = v.base.pinTokens(w.pool); err != nil {
			return nil, err
		}
	}
	return w.pool.Sample(ctx, name, t)
}
