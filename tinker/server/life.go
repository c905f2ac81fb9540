package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// life is how long a server lives, with its clock, its log and its goroutines. Handlers may still run when the server
// closes; no goroutine starts then.
type life struct {
	ctx    context.Context // ends with release
	cancel context.CancelCauseFunc
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// newLife begins a life that does not end with ctx.
func newLife(ctx context.Context, now func() time.Time, log *slog.Logger) *life {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	return &life{ctx: ctx, cancel: cancel, now: now, log: log}
}

// begin runs f on a goroutine; false means that the server has ended, and the next process does the work.
func (l *life) begin(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.wg.Go(f)
	}
	return !l.ended
}

// every runs f in intervals until the server closes.
func (l *life) every(interval time.Duration, f func()) {
	l.begin(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-l.ctx.Done():
				return
			case <-tick.C:
				f()
			}
		}
	})
}

// until returns a context that also ends when the server closes.
func (l *life) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// closing reports whether release was called.
func (l *life) closing() bool { return l.ctx.Err() != nil }

// release ends everything that waits.
func (l *life) release() { l.cancel(fmt.Errorf("server: %w", tinker.ErrClosed)) }

// end waits until no goroutine is left.
func (l *life) end() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.wg.Wait()
}
