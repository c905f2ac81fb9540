package workflow

import (
	"sync"
	"time"
)

// Clock measures for how long at least one answer of a rollout was being graded: by a reward function, by a judge, or
// by the step of an environment. Programs that report a reward themselves are not measured. It is safe for several
// goroutines; the nil one forgets.
type Clock struct {
	mu    sync.Mutex
	now   int // gradings under way
	since time.Time
	sum   time.Duration
	used  bool
}

// Grade starts the clock. The function that it returns stops it.
func (c *Clock) Grade() (stop func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now++; c.now == 1 {
		c.since = time.Now()
	}
	c.used = true
	return c.stop
}

func (c *Clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now--; c.now == 0 {
		c.sum += time.Since(c.since)
	}
}

// Graded is the time measured so far; ok is false if nothing was graded.
func (c *Clock) Graded() (d time.Duration, ok bool) {
	if c == nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum, c.used
}
