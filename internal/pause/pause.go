// Package pause waits for a time, unless a context ends before.
package pause

import (
	"context"
	"time"
)

// For waits for d. If ctx ends before, the error is its cause.
func For(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
