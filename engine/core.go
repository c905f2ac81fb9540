package engine

import (
	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// core computes: it is an engine without models and checkpoints.
type core struct {
	numerics  arithmetic
	compute   nn.Compute
	group     *lifetime.Group
	turn      *fair.Turn
	memory    *weights.Memory
	sampling  *fair.Backlog // of sampling requests
	loop      *compute.Loop
	scheduler *sampler.Scheduler
}

// newCore makes a core that computes in an arithmetic. o is complete.
func newCore(o Options, numerics arithmetic) (core, error) {
	k, err := pick(o.Kernel, numerics.order, o.Log)
	if err != nil {
		return core{}, err
	}
	c := core{numerics: numerics, compute: nn.Compute{K: k, P: kernel.NewPool(o.Threads)}, group: lifetime.New(),
		turn: &fair.Turn{}, sampling: fair.NewBacklog(tinker.Queue{Requests: o.MaxWaiting, Tokens: o.MaxTokens})}
	c.memory = weights.New(weights.Options{Compute: c.compute, Total: max(0, o.Memory), Idle: o.IdleAfter,
		CacheBytes: o.CacheBytes, Frozen: numerics.frozen, Log: o.Log})
	c.loop = compute.New(compute.Options{Compute: c.compute, Turn: c.turn, Group: c.group, Limits: o.limits(),
		Division: numerics.division()})
	c.scheduler = sampler.New(sampler.Options{Compute: c.compute, Turn: c.turn, Group: c.group, Backlog: c.sampling,
		MaxSequences: o.MaxSequences})
	return c, nil
}

// limits bound a pass of training.
func (o *Options) limits() compute.Limits {
	return compute.Limits{TapeBytes: o.TapeBytes, MicroBatch: o.MicroBatch}
}

// close ends everything; end is called once, after nothing more begins.
func (c core) close(end func()) {
	first := c.group.Close()
	if first && end != nil {
		end()
	}
	c.group.Wait()
	if first {
		c.memory.End()
		c.compute.P.Close()
	}
}
