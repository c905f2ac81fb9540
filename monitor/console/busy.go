package console

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// quiet is how long a run that is busy may write nothing.
const quiet = 30 * time.Second

// Busy is a run's output without a live line: whenever nothing was written for half a minute, it adds a
// line that says what the run is busy with. It is safe for concurrent use; a nil Busy is told in vain.
type Busy struct {
	out io.Writer

	mu    sync.Mutex
	what  string    // "": there is nothing to say
	wrote time.Time // the last line that was given to it
	last  time.Time // the last line
}

// NewBusy makes a Busy that writes to out.
func NewBusy(out io.Writer) *Busy {
	now := time.Now()
	return &Busy{out: out, wrote: now, last: now}
}

// With says what the run is busy with from now on; "" is nothing.
func (b *Busy) With(what string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = what
}

// Write implements io.Writer.
func (b *Busy) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrote = time.Now()
	b.last = b.wrote
	return b.out.Write(p)
}

// Run writes the lines until ctx ends.
func (b *Busy) Run(ctx context.Context) {
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(b.tick())
		}
	}
}

// tick writes a line if it is time, and returns how long the next one has time.
func (b *Busy) tick() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left := quiet - time.Since(b.last); left > 0 {
		return left
	}
	b.last = time.Now()
	if b.what != "" {
		fmt.Fprintf(b.out, "busy     %s (%v since the last line)\n", b.what, time.Since(b.wrote).Round(time.Second))
	}
	return quiet
}
