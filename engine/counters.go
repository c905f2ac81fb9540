package engine

import (
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// counters counts what was computed.
type counters struct {
	prefill, decode, forward, backward atomic.Int64 // tokens
	steps, sequences, running          atomic.Int64 // of sampling; running is now
	passes, models, passTokens         atomic.Int64 // of training
	preemptions                        atomic.Int64
	longest                            atomic.Int64 // nanoseconds that training computed without yielding
}

// pass records a pass of training.
func (f *counters) pass(models, tokens int, back bool) {
	f.passes.Add(1)
	f.models.Add(int64(models))
	f.passTokens.Add(int64(tokens))
	if f.forward.Add(int64(tokens)); back {
		f.backward.Add(int64(tokens))
	}
}

// part records how long training computed without yielding. Only the compute loop calls it.
func (f *counters) part(took time.Duration) {
	if int64(took) > f.longest.Load() {
		f.longest.Store(int64(took))
	}
}

// step records a step of sampling.
func (f *counters) step(sequences []*sequence) {
	f.steps.Add(1)
	f.sequences.Add(int64(len(sequences)))
	for _, l := range sequences {
		if l.prompting() || l.take > 1 {
			f.prefill.Add(int64(l.take))
		} else {
			f.decode.Add(1)
		}
	}
}

// Stats returns what the engine has computed so far, and the pending requests.
func (e *Engine) Stats() tinker.Stats {
	f := &e.figures
	return tinker.Stats{
		Prefill: f.prefill.Load(), Decode: f.decode.Load(), Forward: f.forward.Load(), Backward: f.backward.Load(),
		Steps: f.steps.Load(), Sequences: f.sequences.Load(), MaxSequences: e.opts.MaxSequences,
		Running: int(f.running.Load()),
		Passes:  f.passes.Load(), PassModels: f.models.Load(), PassTokens: f.passTokens.Load(),
		MicroBatch:  e.opts.MicroBatch,
		Preemptions: f.preemptions.Load(), LongestPart: time.Duration(f.longest.Load()),
		Waiting: [2]tinker.Queue{tinker.Training: e.waiting[tinker.Training].now(),
			tinker.Sampling: e.waiting[tinker.Sampling].now()},
	}
}
