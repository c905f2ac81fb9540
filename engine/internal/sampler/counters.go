package sampler

import (
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// counters counts what sampling computed.
type counters struct {
	prefill, decode  atomic.Int64 // tokens
	steps, sequences atomic.Int64
	running          atomic.Int64 // sequences now
}

// step records a step.
func (c *counters) step(sequences []*sequence) {
	c.steps.Add(1)
	c.sequences.Add(int64(len(sequences)))
	for _, l := range sequences {
		if l.prompting() || l.take > 1 {
			c.prefill.Add(int64(l.take))
		} else {
			c.decode.Add(int64(len(l.samples)))
		}
	}
}

// Count adds what the scheduler has computed so far to s.
func (c *Scheduler) Count(s *tinker.Stats) {
	f := &c.counters
	s.Prefill, s.Decode, s.Steps, s.Sequences = f.prefill.Load(), f.decode.Load(), f.steps.Load(), f.sequences.Load()
	s.MaxSequences, s.Running = c.MaxSequences, int(f.running.Load())
}
