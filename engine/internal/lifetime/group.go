// Package lifetime ends the goroutines of an engine, or of a fleet's head.
package lifetime

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Group is the goroutines that end together. None begins after close, and wait returns when all have ended.
type Group struct {
	ctx    context.Context // ends with close
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

func New() *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// Context ends when the group closes, with Closed as its cause.
func (g *Group) Context() context.Context { return g.ctx }

// Closing reports whether what runs should end.
func (g *Group) Closing() bool { return g.ctx.Err() != nil }

// Start runs f on a goroutine that wait waits for; false means that the group is closed.
func (g *Group) Start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Go(f)
	return true
}

// Ended reports whether nothing more begins.
func (g *Group) Ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Close lets nothing more begin, and reports whether it is the first to do so.
func (g *Group) Close() (first bool) {
	g.mu.Lock()
	first = !g.closed
	g.closed = true
	g.mu.Unlock()
	g.cancel(Closed())
	return first
}

func (g *Group) Wait() { g.work.Wait() }

// Closed is the error of what is asked of a closed engine, or interrupted by its close.
func Closed() error { return fmt.Errorf("engine: %w", tinker.ErrClosed) }
