package sampler

import (
	"context"
	"runtime"
	"strconv"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Client is a tinker.SamplingClient: one version of weights, or of an in-flight sampler the latest.
type Client struct {
	ClientOptions
	version   *weights.Version // nil of an in-flight sampler
	target    *target          // nil of a snapshot
	queue     *Queue
	release   func()
	collected runtime.Cleanup
}

// Inflight is the client of an in-flight sampler, a tinker.Mover.
type Inflight struct{ *Client }

// Move implements tinker.Mover.
func (c Inflight) Move(ctx context.Context, path string) error { return c.target.move(ctx, path) }

// ClientOptions configure clients.
type ClientOptions struct {
	Memory *weights.Memory
	// submit gives a request to what computes it; promised is as for scheduler.submit.
	Submit func(s *Request, promised bool) error
	Draw   func() uint64 // seeds that requests leave open
	// SharePrefixes lets tenants use the cached prefixes of each other's prompts.
	SharePrefixes bool
}

// NewClient makes a client of a tenant, which ends held when it is closed or collected.
func NewClient(o ClientOptions, v *weights.Version, owner string, held *weights.Hold) *Client {
	o.Memory.UsedBy(v.Base, owner)
	c := &Client{ClientOptions: o, version: v, queue: NewQueue(owner)}
	c.releases(held.End)
	return c
}

// NewInflight makes the client of a tenant for an in-flight sampler, which begins with the weights at path.
func NewInflight(ctx context.Context, o ClientOptions, open Open, path, owner string) (Inflight, error) {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return Inflight{}, err
	}
	t := &target{model: p.ModelID, open: open}
	if t.now, err = t.read(ctx, path); err != nil {
		return Inflight{}, err
	}
	o.Memory.UsedBy(t.now.Base, owner)
	c := &Client{ClientOptions: o, target: t, queue: NewQueue(owner)}
	c.releases(sync.OnceFunc(func() { t.leave(t.current()) }))
	return Inflight{c}, nil
}

// releases says how the client's weights are released, once, when it is closed or collected.
func (c *Client) releases(end func()) {
	c.release = end
	c.collected = runtime.AddCleanup(c, func(end func()) { end() }, end)
}

// Close releases the client's weights; the client must not be used afterwards. An unreachable client is closed by the
// garbage collector.
func (c *Client) Close() error {
	c.collected.Stop()
	c.release()
	return nil
}

// Sample implements tinker.SamplingClient. When ctx ends, the request fails with its error and releases its memory.
func (c *Client) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	if err := c.accept(ctx, req, resolve, nil); err != nil {
		return nil, err
	}
	return f, nil
}

// Stream implements tinker.Streamer. A streamed request is like any other in the batch.
func (c *Client) Stream(ctx context.Context, req tinker.SampleRequest) (*tinker.Stream, error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	stream, drawn := tinker.NewStream(f)
	if err := c.accept(ctx, req, resolve, drawn); err != nil {
		return nil, err
	}
	return stream, nil
}

// accept checks a request and submits it. drawn, if not nil, is called with each token by the scheduler's goroutine.
func (c *Client) accept(ctx context.Context, req tinker.SampleRequest,
	resolve func(tinker.SampleResponse, error), drawn func(tinker.Drawn)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, err := c.request(ctx, req)
	if err != nil {
		return err
	}
	base := s.version.Base
	held := c.Memory.Enter(base)
	s.ctx, s.queue, s.drawn = ctx, c.queue, drawn
	s.resolve = func(out tinker.SampleResponse, err error) {
		c.Memory.Touch(base)
		held.End()
		s.flight.end()
		resolve(out, err)
	}
	if err := c.Submit(s, tinker.IsPromised(ctx)); err != nil {
		held.End()
		s.flight.end()
		return err
	}
	return nil
}

// request reads a request.
func (c *Client) request(ctx context.Context, req tinker.SampleRequest) (s *Request, err error) {
	v := c.version
	if c.target != nil {
		v = c.target.current().Version
	} else if len(req.Versions) > 0 {
		return nil, tinker.Userf("engine: versions are for in-flight samplers; the weights of this one never change")
	}
	if s, err = newRequest(v, req, c.Draw); err != nil {
		return nil, err
	}
	s.scope = c.scope(v, req.CacheSalt)
	if c.target != nil {
		s.flight, err = c.target.newFlight(ctx, req)
	}
	return s, err
}

// scope says which prefixes a request with that salt shares: its tenant's with the same salt, and those of
// others if SharePrefixes is set. Then only its own count as hits, which would tell what others asked.
func (c *Client) scope(v *weights.Version, salt string) cache.Scope {
	s := cache.Scope{Version: v.ID, Room: salt, User: c.queue.owner}
	if !c.SharePrefixes {
		s.Room = strconv.Quote(c.queue.owner) + salt
	}
	return s
}
