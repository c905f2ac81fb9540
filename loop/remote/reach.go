// Package remote is what a run on a server needs beyond the calls themselves: which models it left there, how it ends
// when the server does not answer, and how often it goes back to the last saved state when the server lost its model.
package remote

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// StopPatience is how long a server may be silent after a stop before the run ends where it is. It is asked for a
// sign of life every stopPause.
const (
	StopPatience = 5 * time.Second
	stopPause    = time.Second
)

// ErrUnreachable ends a run that is to stop and cannot finish its step, as the server does not answer.
var ErrUnreachable = errors.New("run: the server cannot be reached")

// Server is a service that may be out of reach.
type Server interface {
	Reachable(ctx context.Context) error
}

// WhileReachable returns a context that ends when stop is closed and the server does not answer any more: what is
// under way could not be finished, and after a restart it is done again. A nil server always answers.
func WhileReachable(ctx context.Context, stop <-chan struct{}, server Server) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if server == nil {
		return ctx, func() { cancel(nil) }
	}
	go func() {
		select {
		case <-stop:
			cancel(silent(ctx, server))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// silent returns an error once a server has been silent for StopPatience, or when ctx ends.
func silent(ctx context.Context, server Server) error {
	for heard := time.Now(); ; {
		err := server.Reachable(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			heard = time.Now()
		case time.Since(heard) >= StopPatience:
			return fmt.Errorf("%w (%w)", ErrUnreachable, err)
		}
		select {
		case <-time.After(stopPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
