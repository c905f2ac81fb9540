package verifiers

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options set Servers up.
type Options struct {
	Executable string            // the user's Python: a path, a name in PATH, or a folder; "" is python3
	Path       []string          // folders that it imports from
	Log        func(line string) // gets the servers' output; nil drops it
}

// Servers are the env servers of a run. It implements workflow.Carrier. Close it.
type Servers struct {
	host host
	ctx  context.Context // of checks; Close ends it
	end  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	all    map[string]*process.Kept[*link] // by settings
	slots  workflow.Slots
	wait   sync.WaitGroup // of checks

	reading sync.Mutex
	read    map[string][]dataset.Row // tasks
}

// New returns Servers. Nothing is started before the first rollout.
func New(o Options) *Servers {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	v := &Servers{host: host{o.Executable, o.Path, process.NewGuard(), o.Log, healthTimeout},
		all: map[string]*process.Kept[*link]{}, read: map[string][]dataset.Row{}}
	v.ctx, v.end = context.WithCancelCause(context.Background())
	return v
}

// Close ends the servers that were started here, also those that are not ready yet.
func (v *Servers) Close() error {
	v.mu.Lock()
	v.closed = true
	list := v.all
	v.mu.Unlock()
	v.end(process.ErrClosed)
	v.wait.Wait()
	var ends sync.WaitGroup
	for _, s := range list {
		ends.Go(s.Close)
	}
	ends.Wait()
	return v.host.guard.Close()
}

// Check implements workflow.Carrier.
func (v *Servers) Check(values map[string]any) (workflow.Carrying, error) {
	a, err := readArgs(values)
	if err != nil {
		return nil, err
	}
	return &carrying{servers: v, args: a}, nil
}

// carrying implements workflow.Carrying.
type carrying struct {
	servers *Servers
	args
}

// Limits implements workflow.Carrying.
func (c *carrying) Limits() workflow.Limits { return c.limits }

// Carry implements workflow.Carrying.
func (c *carrying) Carry(ctx context.Context, w workflow.Work) ([]workflow.Part, error) {
	data, err := taskOf(w.Task.Row)
	if err != nil {
		return nil, tinker.Userf("%w", err)
	}
	leave, err := c.servers.slots.Enter(ctx, c.key(), c.concurrency)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := c.servers.of(c.settings)
	if err != nil {
		return nil, err
	}
	l, err := s.Get(ctx)
	if err != nil {
		return nil, err
	}
	parts, late, err := c.play(ctx, l, data, w)
	if late {
		c.servers.check(s, l)
	}
	if err != nil {
		return nil, fmt.Errorf("verifiers: rollout %s: %w", w.ID, err)
	}
	return parts, nil
}

// of returns the server of some settings.
func (v *Servers) of(s settings) (*process.Kept[*link], error) {
	key := s.key()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, process.ErrClosed
	}
	if v.all[key] == nil {
		v.all[key] = newServer(v.host, s)
	}
	return v.all[key], nil
}

// play has the server play one episode. late says that the server did not answer in time.
func (c *carrying) play(ctx context.Context, l *link, data map[string]any,
	w workflow.Work) (parts []workflow.Part, late bool, err error) {
	errLate := fmt.Errorf("the episode did not end within %v (workflow_args.timeout)", c.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errLate)
	defer cancel()
	sampling := map[string]any{"temperature": w.Params.Temperature}
	if w.Params.TopP > 0 {
		sampling["top_p"] = w.Params.TopP
	}
	if w.Params.MaxTokens > 0 {
		sampling["max_tokens"] = w.Params.MaxTokens
	}
	answer, assembly, err := l.client.ask(ctx, "run", map[string]any{"task_data": data, "model": w.Model,
		"sampling": sampling, "client": map[string]any{"type": "eval", "base_url": w.URL,
			"api_key_var": "TRINITY_API_KEY", "headers": map[string]any{"X-Trinity-Rollout": w.ID}}})
	if err != nil {
		return nil, errors.Is(err, errLate), l.lost(err)
	}
	parts, err = assembly.finish(answer)
	return parts, false, err
}

// check drops a server that was late if it hangs, so that the next rollout starts another.
func (v *Servers) check(s *process.Kept[*link], l *link) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.wait.Go(func() {
		if l.client.health(v.ctx, l.patience) != nil && v.ctx.Err() == nil {
			l.client.Close()
			s.Drop(l)
		}
	})
}
