package engine

import (
	"context"
	"runtime"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// samplingClient is a tinker.SamplingClient: one version of weights.
type samplingClient struct {
	clientOptions
	version   *version
	queue     *samplingQueue
	held      *memoryUse
	collected runtime.Cleanup
}

// clientOptions are what sampling clients compute with.
type clientOptions struct {
	memory *memory
	// submit gives a request to what computes it; promised is as for scheduler.submit.
	submit func(s *samplingRequest, promised bool) error
	draw   func() uint64 // seeds that requests leave open
	// sharePrefixes lets tenants use the cached prefixes of each other's prompts.
	sharePrefixes bool
}

// newClient makes a client of a tenant, which ends held when it is closed or collected.
func newClient(o clientOptions, v *version, owner string, held *memoryUse) *samplingClient {
	o.memory.usedBy(v.base, owner)
	c := &samplingClient{clientOptions: o, version: v, queue: newSamplingQueue(owner), held: held}
	c.collected = runtime.AddCleanup(c, (*memoryUse).end, held)
	return c
}

// Close releases the client's weights; the client must not be used afterwards. An unreachable client is closed by the
// garbage collector.
func (c *samplingClient) Close() error {
	c.collected.Stop()
	c.held.end()
	return nil
}

// Sample implements tinker.SamplingClient. When ctx ends, the request fails with its error and releases its memory.
func (c *samplingClient) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	if err := c.accept(ctx, req, resolve, nil); err != nil {
		return nil, err
	}
	return f, nil
}

// Stream implements tinker.Streamer. A streamed request is like any other in the batch.
func (c *samplingClient) Stream(ctx context.Context, req tinker.SampleRequest) (*tinker.Stream, error) {
	f, resolve := tinker.NewFuture[tinker.SampleResponse]()
	stream, drawn := tinker.NewStream(f)
	if err := c.accept(ctx, req, resolve, drawn); err != nil {
		return nil, err
	}
	return stream, nil
}

// accept checks a request and submits it. drawn, if not nil, is called with each token by the scheduler's goroutine.
func (c *samplingClient) accept(ctx context.Context, req tinker.SampleRequest,
	resolve func(tinker.SampleResponse, error), drawn func(tinker.Drawn)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s, err := newRequest(c.version, req, c.draw)
	if err != nil {
		return err
	}
	s.scope = c.scope(req.CacheSalt)
	held := c.memory.enter(c.version.base)
	s.ctx, s.queue, s.drawn = ctx, c.queue, drawn
	s.resolve = func(out tinker.SampleResponse, err error) {
		c.memory.touch(c.version.base)
		held.end()
		resolve(out, err)
	}
	if err := c.submit(s, tinker.IsPromised(ctx)); err != nil {
		held.end()
		return err
	}
	return nil
}

// scope says which prefixes a request with that salt shares: those of its tenant with the same salt, and those of others
// if sharePrefixes is set. Then only its own count as hits, which would tell what others asked.
func (c *samplingClient) scope(salt string) cache.Scope {
	s := cache.Scope{Version: c.version.id, Room: salt, User: c.queue.owner}
	if !c.sharePrefixes {
		s.Room = strconv.Quote(c.queue.owner) + salt
	}
	return s
}
