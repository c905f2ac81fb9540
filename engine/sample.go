package engine

import (
	"context"
	"math"
	"runtime"
	"strconv"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// samplingClient is a tinker.SamplingClient: one version of weights.
type samplingClient struct {
	e         *Engine
	version   *version
	queue     *samplingQueue
	held      *memoryUse
	collected runtime.Cleanup
}

// memoryUse is a reservation of memory, which ends once; nil is none.
type memoryUse struct {
	once    sync.Once
	release func()
}

func (h *memoryUse) end() {
	if h != nil {
		h.once.Do(h.release)
	}
}

// Close releases the client's weights; the client must not be used afterwards. An unreachable client is closed by the
// garbage collector.
func (c *samplingClient) Close() error {
	c.collected.Stop()
	c.held.end()
	return nil
}

// maxSamples bounds the continuations of one request.
const maxSamples = 1 << 16

// Sample implements tinker.SamplingClient. When ctx ends, the request fails with its error and releases its memory.
func (c *samplingClient) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	if err := c.submit(ctx, req, resolve, nil); err != nil {
		return nil, err
	}
	return f, nil
}

// Stream implements tinker.Streamer. A streamed request is like any other in the batch.
func (c *samplingClient) Stream(ctx context.Context, req tinker.SampleRequest) (*tinker.Stream, error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	stream, drawn := tinker.NewStream(f)
	if err := c.submit(ctx, req, resolve, drawn); err != nil {
		return nil, err
	}
	return stream, nil
}

// submit gives a request to the scheduler. drawn, if not nil, is called with each token by the scheduler's goroutine.
func (c *samplingClient) submit(ctx context.Context, req tinker.SampleRequest,
	resolve func(tinker.SampleResponse, error), drawn func(tinker.Drawn)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, err := c.check(req)
	if err != nil {
		return err
	}
	s.scope = c.e.scopeOf(c.version, c.queue.owner, req.CacheSalt)
	held := c.e.memory.enter(c.version.base)
	s.ctx, s.queue, s.drawn = ctx, c.queue, drawn
	s.resolve = func(out tinker.SampleResponse, err error) {
		c.e.memory.touch(c.version.base)
		held.end()
		resolve(out, err)
	}
	accept := c.e.scheduler.submit
	if c.goesAway(s) {
		accept = c.spreadSamples
	}
	if err := accept(s, tinker.IsPromised(ctx)); err != nil {
		held.end()
		return err
	}
	return nil
}

// samplingRequest is one sampling request and its state.
type samplingRequest struct {
	version *version
	queue   *samplingQueue
	scope   cache.Scope // of the prefixes that it shares
	looked  bool        // it has looked for the prefix of its prompt
	prompt  []int32
	first   int // index of the first sample; of a range of a request's samples not 0
	n       int // samples
	left    int // samples not finished
	next    int // first sample not begun
	most    int // tokens of a sample

	temperature, topP, minP float64
	topK                    int // 0 is off
	seed                    rng.Seed
	stop                    stops

	promptLogprobs bool
	promptTop      int
	sampleTop      int
	targets        *tinker.Matrix[int32] // nil is none
	alternatives   int                   // tokens drawn at each position of the prompt

	out     tinker.SampleResponse
	ctx     context.Context // the request is cancelled when it ends
	resolve func(tinker.SampleResponse, error)
	drawn   func(tinker.Drawn) // nil: not streamed
	begun   bool               // it has left its queue
	closed  bool               // resolved
}

// check reads a request; everything wrong with it is a User error.
func (c *samplingClient) check(req tinker.SampleRequest) (*samplingRequest, error) {
	b, p := c.version.base, req.Params
	prompt, err := b.text("the prompt", req.Prompt)
	if err != nil {
		return nil, err
	}
	s := &samplingRequest{version: c.version, prompt: prompt, n: max(1, req.NumSamples), most: p.MaxTokens,
		temperature: p.Temperature, topP: p.TopP, minP: p.MinP,
		topK: max(0, p.TopK), promptLogprobs: req.PromptLogprobs, promptTop: req.TopKPromptLogprobs,
		sampleTop: req.TopKSampleLogprobs,
		targets:   req.TargetPromptLogprobs, alternatives: req.PromptAltTokens}
	s.left = s.n
	switch {
	case req.NumSamples < 0 || req.NumSamples > maxSamples:
		return nil, tinker.Userf("engine: num_samples is %d; it must be 1 to %d", req.NumSamples, maxSamples)
	case p.MaxTokens < 0:
		return nil, tinker.Userf(
			"engine: max_tokens is %d; it must be 1 or more, or 0 for as many as the context takes", p.MaxTokens)
	case len(prompt)+max(1, p.MaxTokens) > b.context:
		return nil, tinker.Userf("engine: a prompt of %d tokens and max_tokens %d do not fit into the context of "+
			"base model %q, %d tokens", len(prompt), p.MaxTokens, b.name, b.context)
	case !(p.Temperature >= 0) || math.IsInf(p.Temperature, 0):
		return nil, tinker.Userf("engine: temperature is %v; it must be 0, which is greedy, or a positive number",
			p.Temperature)
	case p.TopK < -1 || p.TopK == 0:
		return nil, tinker.Userf("engine: top_k is %d; it must be 1 or more, or -1, which is off", p.TopK)
	case !(p.TopP > 0 && p.TopP <= 1):
		return nil, tinker.Userf("engine: top_p is %v; it must be above 0 and at most 1, which is off", p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return nil, tinker.Userf("engine: min_p is %v; it must be 0, which is off, to 1", p.MinP)
	}
	if s.most == 0 {
		s.most = b.context - len(prompt)
	}
	if err := s.checkScores(); err != nil {
		return nil, err
	}
	if s.stop, err = newStops(b, p); err != nil {
		return nil, err
	}
	if p.Seed != nil {
		s.seed = rng.New(*p.Seed)
	} else {
		s.seed = rng.New(c.e.draw())
	}
	s.out.Sequences = make([]tinker.SampledSequence, s.n)
	s.makeScores()
	return s, nil
}

// scopeOf says which prefixes a tenant's request shares: those of the tenant with the same salt, and those of others if
// Options.SharePrefixes says so. Then only its own count as hits, which would tell what others asked.
func (e *Engine) scopeOf(v *version, tenant, salt string) cache.Scope {
	s := cache.Scope{Version: v.id, Room: salt, User: tenant}
	if !e.opts.SharePrefixes {
		s.Room = strconv.Quote(tenant) + salt
	}
	return s
}

// end resolves the request.
func (s *samplingRequest) end(err error) {
	s.closed = true
	if err != nil {
		s.resolve(tinker.SampleResponse{}, tinker.Brief(err))
		return
	}
	s.resolve(s.out, nil)
}
