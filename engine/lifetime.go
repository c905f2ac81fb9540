package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// group is the goroutines of an engine. None begins after close, and wait returns when all have ended.
type group struct {
	ctx    context.Context // ends with close
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

func newGroup() *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	return g
}

// context ends when the group closes, with errClosed as its cause.
func (g *group) context() context.Context { return g.ctx }

// closing reports whether what runs should end.
func (g *group) closing() bool { return g.ctx.Err() != nil }

// start runs f on a goroutine that wait waits for; false means that the group is closed.
func (g *group) start(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Go(f)
	return true
}

// ended reports whether nothing more begins.
func (g *group) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// close lets nothing more begin, and reports whether it is the first to do so.
func (g *group) close() (first bool) {
	g.mu.Lock()
	first = !g.closed
	g.closed = true
	g.mu.Unlock()
	g.cancel(errClosed())
	return first
}

func (g *group) wait() { g.work.Wait() }

// errClosed is the error of what is asked of a closed engine, or interrupted by its close.
func errClosed() error { return fmt.Errorf("engine: %w", tinker.ErrClosed) }
