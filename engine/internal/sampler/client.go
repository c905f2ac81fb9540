package sampler

import (
	"context"
	"runtime"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Client is a tinker.SamplingClient: one version of weights.
type Client struct {
	ClientOptions
	version   *weights.Version
	queue     *Queue
	held      *weights.Hold
	collected runtime.Cleanup
}

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
	c := &Client{ClientOptions: o, version: v, queue: NewQueue(owner), held: held}
	c.collected = runtime.AddCleanup(c, (*weights.Hold).End, held)
	return c
}

// Close releases the client's weights; the client must not be used afterwards. An unreachable client is closed by the
// garbage collector.
func (c *Client) Close() error {
	c.collected.Stop()
	c.held.End()
	return nil
}

// Sample implements tinker.SamplingClient. When ctx ends, the request fails with its error and releases its memory.
func (c *Client) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
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
	s, err := newRequest(c.version, req, c.Draw)
	if err != nil {
		return err
	}
	s.scope = c.scope(req.CacheSalt)
	held := c.Memory.Enter(c.version.Base)
	s.ctx, s.queue, s.drawn = ctx, c.queue, drawn
	s.resolve = func(out tinker.SampleResponse, err error) {
		c.Memory.Touch(c.version.Base)
		held.End()
		resolve(out, err)
	}
	if err := c.Submit(s, tinker.IsPromised(ctx)); err != nil {
		held.End()
		return err
	}
	return nil
}

// scope says which prefixes a request with that salt shares: its tenant's with the same salt, and those of
// others if SharePrefixes is set. Then only its own count as hits, which would tell what others asked.
func (c *Client) scope(salt string) cache.Scope {
	s := cache.Scope{Version: c.version.ID, Room: salt, User: c.queue.owner}
	if !c.SharePrefixes {
		s.Room = strconv.Quote(c.queue.owner) + salt
	}
	return s
}
