package client

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The SDK's limits of sampling.
const (
	submits       = 400              // at a time
	slowSubmits   = 10               // at a time, while the server was recently busy
	moment        = 10 * time.Second // the meaning of recently
	busyWeight    = 20               // factor of a prompt's bytes while the server was recently busy
	bytesPerToken = 10               // of a prompt in JSON, estimated
	smallPrompt   = 128 << 10
	stuck         = 2 * time.Hour // without any sample
)

// samplingClient is a tinker.SamplingClient.
type samplingClient struct {
	client   *Client
	of       tinker.SamplingClientRequest
	inFlight *semaphore.Weighted // accepted samples without a result
	submit   *semaphore.Weighted
	slow     *semaphore.Weighted
	bytes    *semaphore.Weighted

	opening sync.Mutex // held while the server's sampler is created again

	mu    sync.Mutex
	id    string // of the server's sampler
	seq   int64
	busy  time.Time // until then nothing is sent
	moved time.Time // time of the last result, or of the first request
}

// SamplingClient implements tinker.Service. Samplers belong to this process's own session.
func (c *Client) SamplingClient(ctx context.Context, req tinker.SamplingClientRequest) (tinker.SamplingClient, error) {
	if req.BaseModel == "" && req.ModelPath == "" {
		return nil, userf("client: a sampler needs a base model or the path of saved weights")
	}
	if req.ModelPath != "" {
		if _, err := tinker.ParsePath(req.ModelPath); err != nil {
			return nil, err
		}
	}
	if req.Inflight {
		return nil, userf("client: the Tinker protocol makes an in-flight sampler when it saves its weights, not of a "+
			"path; sample from %s without inflight", req.ModelPath)
	}
	s := &samplingClient{client: c, of: req, inFlight: semaphore.NewWeighted(c.config.Samples),
		submit: semaphore.NewWeighted(submits), slow: semaphore.NewWeighted(slowSubmits),
		bytes: semaphore.NewWeighted(c.config.DispatchBytes), moved: time.Now()}
	return s, s.open(ctx)
}

// Sample implements tinker.SamplingClient. It waits while as many samples are in flight as the server allows.
func (s *samplingClient) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if req.Params.MaxTokens < 0 {
		return nil, userf("client: max_tokens is %d; it must be positive, or 0 for no limit", req.Params.MaxTokens)
	}
	if len(req.Versions) > 0 {
		return nil, userf("client: the Tinker protocol does not repeat the versions of an answer; leave them out")
	}
	req.Params.Seed = s.client.seed(req.Params.Seed)
	params, err := wire.FromSampling(req.Params)
	if err != nil {
		return nil, err
	}
	body := wire.SampleRequest{NumSamples: max(1, req.NumSamples), Prompt: wire.FromInput(req.Prompt), Params: params,
		PromptLogprobs: req.PromptLogprobs, TopKPromptLogprobs: req.TopKPromptLogprobs,
		TopKSampleLogprobs:   req.TopKSampleLogprobs,
		TargetPromptLogprobs: wire.FromTargets(req.TargetPromptLogprobs), PromptAltTokensK: req.PromptAltTokens,
		Type: "sample"}
	ctx, done := s.client.within(ctx)
	if err := s.inFlight.Acquire(ctx, 1); err != nil {
		defer done()
		return nil, context.Cause(ctx)
	}
	leave := func() { s.inFlight.Release(1); done() }
	size := promptBytes(req.Prompt)
	p, err := s.send(ctx, body, size)
	if err != nil {
		leave()
		return nil, s.lost(err)
	}
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	if !s.client.spawn(func(own context.Context) {
		defer leave()
		r, last, err := s.result(ctx, p, body, size)
		resolve(r, s.lost(err))
		if err != nil && ctx.Err() != nil {
			s.client.abandon(own, last)
		}
	}) {
		leave()
		return nil, tinker.ErrClosed
	}
	return f, nil
}

// promptBytes estimates a prompt's size in JSON, in bytes.
func promptBytes(in tinker.ModelInput) int64 {
	n := 0
	for _, c := range in.Chunks {
		n += bytesPerToken * len(c.Tokens)
		if c.Image != nil {
			n += len(c.Image.Data)
		}
	}
	return int64(n)
}

// result polls for a sample. If the server has lost it, it is requested again under another number; last is the promise
// of the last request.
func (s *samplingClient) result(ctx context.Context, p promise, body wire.SampleRequest,
	size int64) (r tinker.SampleResponse, last promise, err error) {
	for n := 0; ; n++ {
		r, err := result(ctx, s.client, p, wire.DecodeSample)
		if err == nil {
			s.mu.Lock()
			s.moved = time.Now()
			s.mu.Unlock()
		}
		if !lostSample(err) || s.isStuck() || n >= resends && !errors.Is(err, errLost) {
			return r, p, err
		}
		if err := s.revive(ctx, p, err, n); err != nil {
			return r, p, err
		}
		again, err := s.send(ctx, body, size)
		if err != nil {
			return r, p, err
		}
		p = again
	}
}

func (s *samplingClient) isStuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.moved) > stuck
}

// ask submits one request under a new number. If the server is busy, the request is repeated under the same number,
// after one or five seconds.
func (s *samplingClient) ask(ctx context.Context, body wire.SampleRequest, size int64) (promise, error) {
	s.mu.Lock()
	body.SeqID = s.seq
	s.seq++
	s.mu.Unlock()
	r, err := post("/asample", body)
	if err != nil {
		return promise{}, err
	}
	r.retries, r.busy, r.window = 0, true, stuck
	r.header = map[string]string{wire.HeaderBackpressure: "1"}
	h := heldRequest{of: &s.client.holds}
	defer h.release()
	for {
		p, err := s.dispatch(ctx, r, size)
		var status *StatusError
		if !errors.As(err, &status) || status.Status != http.StatusTooManyRequests {
			return p, err
		}
		h.set(RateLimited, status.Detail)
		s.mu.Lock()
		if size <= smallPrompt {
			s.busy = later(s.busy, time.Now().Add(time.Second))
		} else {
			s.busy = later(s.busy, time.Now().Add(5*time.Second))
		}
		s.mu.Unlock()
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dispatch sends a request once, within the limits of concurrent submits.
func (s *samplingClient) dispatch(ctx context.Context, r *apiRequest, size int64) (promise, error) {
	s.mu.Lock()
	wait := time.Until(s.busy)
	recent := !s.busy.IsZero() && wait > -moment
	s.mu.Unlock()
	if err := pause.For(ctx, wait); err != nil {
		return promise{}, err
	}
	type limit struct {
		of *semaphore.Weighted
		n  int64
	}
	limits := []limit{{s.submit, 1}, {s.bytes, min(size, s.client.config.DispatchBytes)}}
	if recent {
		limits = []limit{{s.submit, 1}, {s.slow, 1}, {s.bytes, min(busyWeight*size, s.client.config.DispatchBytes)}}
	}
	for _, l := range limits {
		if err := l.of.Acquire(ctx, l.n); err != nil {
			return promise{}, context.Cause(ctx)
		}
		defer l.of.Release(l.n)
	}
	return s.client.promisedSample(ctx, r)
}
