package python

import (
	"context"
	"time"
)

// limit is how long a call may run.
type limit struct {
	d     time.Duration
	cause error
}

type limitKey struct{}

// WithLimit bounds each call made with the context: one that has run for d is cancelled with the cause. Time that the
// call waits for a thread, or for others (Call.waits in Python), does not count, and d begins anew after it.
func WithLimit(ctx context.Context, d time.Duration, cause error) context.Context {
	return context.WithValue(ctx, limitKey{}, limit{d, cause})
}

// clock measures a call against its limit.
type clock struct {
	timer *time.Timer // nil: there is no limit
	d     time.Duration
}

// startClock starts the clock of a call, which cancels it at the limit of the context.
func startClock(ctx context.Context, cancel context.CancelCauseFunc) clock {
	l, is := ctx.Value(limitKey{}).(limit)
	if !is {
		return clock{}
	}
	return clock{time.AfterFunc(l.d, func() { cancel(l.cause) }), l.d}
}

func (c clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c clock) restart() {
	if c.timer != nil {
		c.timer.Reset(c.d)
	}
}
