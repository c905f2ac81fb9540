package compute

import (
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// counters counts what training computed.
type counters struct {
	forward, backward          atomic.Int64 // tokens
	passes, models, passTokens atomic.Int64
	preemptions                atomic.Int64
	longest                    atomic.Int64 // nanoseconds computed without yielding
}

// pass records a pass.
func (c *counters) pass(models, tokens int, back bool) {
	c.passes.Add(1)
	c.models.Add(int64(models))
	c.passTokens.Add(int64(tokens))
	if c.forward.Add(int64(tokens)); back {
		c.backward.Add(int64(tokens))
	}
}

// part records a computation without yielding. Only the loop's goroutine calls it.
func (c *counters) part(took time.Duration) {
	if int64(took) > c.longest.Load() {
		c.longest.Store(int64(took))
	}
}

// Count adds what the loop has computed so far to s.
func (t *Loop) Count(s *tinker.Stats) {
	c := &t.counters
	s.Forward, s.Backward = c.forward.Load(), c.backward.Load()
	s.Passes, s.PassModels, s.PassTokens = c.passes.Load(), c.models.Load(), c.passTokens.Load()
	s.MicroBatch = t.Limits.MicroBatch
	s.Preemptions, s.LongestPart = c.preemptions.Load(), time.Duration(c.longest.Load())
}
