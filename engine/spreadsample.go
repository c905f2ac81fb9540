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

// goesAway reports whether the pool can compute a request: whole samples, and nothing else.
func (c *samplingClient) goesAway(s *samplingRequest) bool {
	return c.e.opts.Pool != nil && s.drawn == nil && !s.wantsPrompt() && s.sampleTop == 0 &&
		c.e.opts.Pool.Executors() > 0
}

// sampleRange is some of a request's samples.
type sampleRange struct {
	first, n int
	away     bool
}

// planSamples decides where the samples of a request are computed.
func (e *Engine) planSamples(s *samplingRequest) []sampleRange {
	pool, w := e.opts.Pool, &e.spread
	executors, speed := pool.Executors(), pool.Speed()/max(pool.OwnSpeed(), 1e-9)
	w.mu.Lock()
	defer w.mu.Unlock()
	pieces := 1
	if !e.opts.PoolOnly {
		executors++
	}
	if free := executors - w.samples.ranges; free > 1 {
		pieces = min(s.n, free)
	}
	var list []sampleRange
	for i := range pieces {
		r := sampleRange{first: i * s.n / pieces}
		r.n = (i+1)*s.n/pieces - r.first
		cost := s.cost(r.n)
		r.away = e.opts.PoolOnly || speed > 0 && (w.samples.away+cost)/speed < w.samples.here+cost
		w.samples.add(r.away, cost, 1)
		list = append(list, r)
	}
	return list
}

// cost is what so many samples of a request cost at most, in tokens.
func (s *samplingRequest) cost(n int) float64 { return float64(len(s.prompt) + n*s.most) }

func (w *sampleShares) add(away bool, cost float64, ranges int) {
	if away {
		w.away += cost
	} else {
		w.here += cost
	}
	w.ranges += ranges
}

// spreadSamples accepts a request and computes it here and in the pool.
func (c *samplingClient) spreadSamples(s *samplingRequest, promised bool) error {
	waiting := &c.e.waiting[tinker.Sampling]
	if err := waiting.take(s.queue.owner, len(s.prompt), promised); err != nil {
		return err
	}
	list := c.e.planSamples(s)
	started := c.e.start(func() {
		defer waiting.release(s.queue.owner, len(s.prompt))
		s.end(c.sampleRanges(s, list))
	})
	if !started {
		waiting.release(s.queue.owner, len(s.prompt))
		for _, r := range list {
			c.e.sampled(s, r)
		}
		return errClosed()
	}
	return nil
}

// sampled records that a range is not under way any more.
func (e *Engine) sampled(s *samplingRequest, r sampleRange) {
	e.spread.mu.Lock()
	defer e.spread.mu.Unlock()
	e.spread.samples.add(r.away, -s.cost(r.n), -1)
}

// sampleRanges computes the ranges of a request at the same time. The error is that of the first range that has one.
func (c *samplingClient) sampleRanges(s *samplingRequest, list []sampleRange) error {
	var receipts executor.Receipts
	ctx, cancel := context.WithCancel(executor.WithTenant(s.ctx, s.queue.owner))
	defer cancel()
	errs := make([]error, len(list))
	done := make(chan struct{}, len(list))
	for i, r := range list {
		one := func() {
			defer func() { done <- struct{}{} }()
			defer c.e.sampled(s, r)
			if errs[i] = c.sampleRange(ctx, s, r, &receipts); errs[i] != nil {
				cancel()
			}
		}
		if i == len(list)-1 {
			one()
		} else if !c.e.start(one) {
			errs[i] = errClosed()
			c.e.sampled(s, r)
			done <- struct{}{}
		}
	}
	for range list {
		<-done
	}
	switch at := slices.IndexFunc(errs, func(err error) bool { return err != nil && err != context.Canceled }); {
	case c.e.ctx.Err() != nil:
		return errClosed()
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case at >= 0:
		return errs[at]
	case !receipts.Use():
		c.e.opts.Log.Warn("engine: a machine was found to be wrong; samples that it drew are drawn again here")
		return c.sampleHere(ctx, s, sampleRange{n: s.n})
	}
	return nil
}

// sampleRange computes a range into the request's answer.
func (c *samplingClient) sampleRange(ctx context.Context, s *samplingRequest, r sampleRange,
	receipts *executor.Receipts) error {
	if r.away {
		var own executor.Receipts // of no use if the result is none
		out, err := c.sampleAway(executor.WithReceipts(ctx, &own), s, r)
		if err == nil {
			copy(s.out.Sequences[r.first:], out)
			receipts.Add(&own)
			return nil
		}
		if ctx.Err() != nil || c.e.ctx.Err() != nil {
			return context.Canceled
		}
		c.e.opts.Log.Warn("engine: samples that failed elsewhere are drawn here", "error", err)
	}
	return c.sampleHere(ctx, s, r)
}

// sampleHere computes a range in this process.
func (c *samplingClient) sampleHere(ctx context.Context, s *samplingRequest, r sampleRange) error {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	part := *s
	part.ctx, part.resolve, part.first, part.n, part.left = ctx, resolve, s.first+r.first, r.n, r.n
	part.out = tinker.SampleResponse{Sequences: make([]tinker.SampledSequence, r.n)}
	if err := c.e.scheduler.submit(&part, true); err != nil {
		return err
	}
	<-f.Done()
	out, err := f.Wait(ctx)
	if err == nil {
		copy(s.out.Sequences[r.first:], out.Sequences)
	}
	return err
}

// sampleAway has the pool compute a range.
func (c *samplingClient) sampleAway(ctx context.Context, s *samplingRequest,
	r sampleRange) ([]tinker.SampledSequence, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.e.ctx, cancel)()
	v, err := c.e.identify(s.version)
	if err != nil {
		return nil, err
	}
	t := executor.Sample{Prompt: s.prompt, First: s.first + r.first, N: r.n, Seed: uint64(s.seed), MaxTokens: s.most,
		Temperature: s.temperature, TopP: s.topP, MinP: s.minP, TopK: s.topK, StopTokens: s.stop.tokens}
	for _, str := range s.stop.strings {
		t.StopStrings = append(t.StopStrings, string(str))
	}
	if len(t.StopStrings) > 0 {
		if t.Tokens, err = s.version.base.pinTokens(c.e.opts.Pool); err != nil {
			return nil, err
		}
	}
	return c.e.opts.Pool.Sample(ctx, v, t)
}
