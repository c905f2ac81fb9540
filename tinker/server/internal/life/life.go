// Package life gives the parts of a server their clock, their log and their goroutines, which end together.
package life

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Life is how long a server lives, with its clock, its log and its goroutines. Handlers may still run when the server
// closes; no goroutine starts then.
type Life struct {
	Ctx    context.Context // ends with release
	cancel context.CancelCauseFunc
	Now    func() time.Time
	Log    *slog.Logger

	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// New begins a life that does not end with ctx.
func New(ctx context.Context, now func() time.Time, log *slog.Logger) *Life {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return &Life{Ctx: ctx, cancel: cancel, Now: now, Log: log}
}

// Begin runs f on a goroutine; false means that the server has ended, and the next process does the work.
func (l *Life) Begin(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.wg.Go(f)
	}
	return !l.ended
}

// Every runs f in intervals until the server closes.
func (l *Life) Every(interval time.Duration, f func()) {
	l.Begin(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-l.Ctx.Done():
				return
			case <-tick.C:
				f()
			}
		}
	})
}

// Until returns a context that also ends when the server closes.
func (l *Life) Until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.Ctx, func() { cancel(context.Cause(l.Ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Closing reports whether release was called.
func (l *Life) Closing() bool { return l.Ctx.Err() != nil }

// Release ends everything that waits.
func (l *Life) Release() { l.cancel(fmt.Errorf("server: %w", tinker.ErrClosed)) }

// End waits until no goroutine is left.
func (l *Life) End() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.wg.Wait()
}
