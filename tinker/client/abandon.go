package client

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// abandonTimeout limits the request that cancels a sample, and how long the answer to a submission is awaited after its
// caller has left.
const abandonTimeout = 5 * time.Second

// abandon tells the server that nobody waits for a sample any more. Servers without that request keep drawing it, and
// nothing comes of it.
func (c *Client) abandon(ctx context.Context, p promise) {
	r, err := post("/cancel_future", wire.RetrieveRequest{RequestID: p.RequestID})
	if err != nil || ctx.Err() != nil {
		return
	}
	r.retries, r.window, r.timeout = 0, 0, abandonTimeout
	_, _ = c.call(ctx, r)
}

// promisedSample sends a sample's request and reads the promise. If ctx ends before that, the caller does not wait: the
// submission continues for a moment in the background, and promises that it still gets are cancelled.
func (c *Client) promisedSample(ctx context.Context, r *apiRequest) (promise, error) {
	if ctx.Err() != nil {
		return promise{}, context.Cause(ctx)
	}
	type outcome struct {
		p   promise
		err error
	}
	answer := make(chan outcome) // an outcome that is received here belongs to the caller
	if !c.spawn(func(own context.Context) {
		longer, end := outlast(ctx, own)
		defer end()
		p, err := c.promised(longer, r, "Sample", true)
		select {
		case answer <- outcome{p, err}:
		case <-ctx.Done():
			if err == nil {
				c.abandon(own, p)
			}
		}
	}) {
		return promise{}, tinker.ErrClosed
	}
	select {
	case a := <-answer:
		return a.p, a.err
	case <-ctx.Done():
		return promise{}, context.Cause(ctx)
	}
}

// outlast returns a copy of own that also ends abandonTimeout after ctx.
func outlast(ctx, own context.Context) (context.Context, func()) {
	own, cancel := context.WithCancel(own)
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(abandonTimeout):
			cancel()
		case <-own.Done():
		}
	})
	return own, func() { stop(); cancel() }
}
