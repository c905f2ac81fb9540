package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// ErrInterrupted says that a run ended because it was asked to stop.
var ErrInterrupted = errors.New("run: interrupted")

// stopping is Options.Stop as a context: it ends at the moment that the channel is closed.
type stopping struct {
	context.Context
	stop <-chan struct{}
}

// Done implements context.Context.
func (s stopping) Done() <-chan struct{} { return s.stop }

// Err implements context.Context.
func (s stopping) Err() error {
	select {
	case <-s.stop:
		return ErrInterrupted
	default:
		return nil
	}
}

// Stopping ends when the run is asked to stop.
func (o Options) Stopping() context.Context { return stopping{context.Background(), o.Stop} }

// WhileWanted returns ctx until the run is asked to stop: a download ends then, and the next start continues it.
func (o Options) WhileWanted(ctx context.Context) (context.Context, context.CancelFunc) {
	return o.whenStopped(ctx, func(context.Context) error { return ErrInterrupted })
}

// whenStopped returns ctx until why returns, which is called when the run is asked to stop.
func (o Options) whenStopped(ctx context.Context, why func(context.Context) error) (context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(o.Stopping(), func() { cancel(why(ctx)) })
	return ctx, func() {
		release()
		cancel(nil)
	}
}

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

// WhileReachable returns a context that ends when the run is asked to stop and the server no longer answers: what is
// under way could not be finished, and after a restart it is done again.
func (j *Job) WhileReachable(ctx context.Context) (context.Context, context.CancelFunc) {
	if j.Server == nil {
		return context.WithCancel(ctx)
	}
	return j.whenStopped(ctx, func(ctx context.Context) error { return silent(ctx, j.Server) })
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
		if err := pause.For(ctx, stopPause); err != nil {
			return err
		}
	}
}
