package engine

import (
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// core is what computes: an engine without models and checkpoints.
type core struct {
	numerics  arithmetic
	compute   nn.Compute
	group     *group
	turn      *turn
	memory    *memory
	sampling  *backlog // of sampling requests
	loop      *computeLoop
	scheduler *scheduler
}

// newCore makes a core that computes in an arithmetic. o is complete.
func newCore(o Options, numerics arithmetic) (core, error) {
	k, err := pick(o.Kernel, numerics.order, o.Log)
	if err != nil {
		return core{}, err
	}
	c := core{numerics: numerics, compute: nn.Compute{K: k, P: kernel.NewPool(o.Threads)}, group: newGroup(),
		turn: &turn{}, sampling: newBacklog(tinker.Queue{Requests: o.MaxWaiting, Tokens: o.MaxTokens})}
	c.memory = newMemory(memoryOptions{compute: c.compute, total: max(0, o.Memory), idle: o.IdleAfter,
		cacheBytes: o.CacheBytes, log: o.Log})
	c.loop = newComputeLoop(loopOptions{compute: c.compute, turn: c.turn, group: c.group, limits: o.limits()})
	c.scheduler = newScheduler(schedulerOptions{compute: c.compute, turn: c.turn, group: c.group, backlog: c.sampling,
		maxSequences: o.MaxSequences})
	return c, nil
}

// limits bound a pass of training.
func (o *Options) limits() limits { return limits{tapeBytes: o.TapeBytes, microBatch: o.MicroBatch} }

// close ends everything; end is called once, after nothing more begins.
func (c core) close(end func()) {
	first := c.group.close()
	if first && end != nil {
		end()
	}
	c.group.wait()
	if first {
		c.memory.end()
		c.compute.P.Close()
	}
}
