package run

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// After Stop, a server is asked for a sign of life every stopPause; when there was none for stopPatience the run ends
// where it is.
const (
	stopPause    = time.Second
	stopPatience = 5 * time.Second
)

// errUnreachable ends a run that is to stop and cannot finish its step, as the server does not answer.
var errUnreachable = errors.New("run: the server cannot be reached")

// reacher is a service that may be out of reach.
type reacher interface {
	Reachable(ctx context.Context) error
}

// watchStop calls end when stop is closed, and returns what ends the watch.
func watchStop(ctx context.Context, stop <-chan struct{}, end func()) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
			end()
		case <-ctx.Done():
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// whileReachable returns a context that ends when the run is to stop and its server does not answer any more: what is
// under way could not be finished, and after a restart it is done again.
func (b *job) whileReachable(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	server := b.remote
	if server == nil {
		return ctx, func() { cancel(nil) }
	}
	go func() {
		select {
		case <-b.Stop:
			cancel(silent(ctx, server))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// silent returns an error once a server has been silent for stopPatience, or when ctx ends.
func silent(ctx context.Context, server reacher) error {
	for heard := time.Now(); ; {
		err := server.Reachable(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			heard = time.Now()
		case time.Since(heard) >= stopPatience:
			return fmt.Errorf("%w (%w)", errUnreachable, err)
		}
		select {
		case <-time.After(stopPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
