// Package openenv plays the environments of OpenEnv servers: https://github.com/huggingface/OpenEnv. They are env.Env
// here, so that wrappers and loops do not know the difference.
//
// A session is one WebSocket with one environment behind it. An episode holds a session from its reset to its end; then
// the next episode resets the same session. The refusals of a server (CAPACITY_REACHED) tell how many sessions it has;
// episodes beyond that wait. When a socket is lost, its episode is played again from seed and actions on another one,
// and must be answered in the same way; if the server ignores seeds, the episode fails. A failed episode is
// an error and never a reward.
//
// The wire format is openenv 0.10.0's, read in its source (core/env_server: http_server.py, types.py, serialization.py,
// mcp_types.py). The messages of /ws have not changed since 0.6.0.
package openenv

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/process"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Prefix begins the ids of OpenEnv environments.
const Prefix = "openenv:"

// Is reports whether an id names an environment of OpenEnv.
func Is(id string) bool { return strings.HasPrefix(strings.TrimSpace(id), Prefix) }

// Options say how environments are played. The zero value of a field is its default.
type Options struct {
	Python    string                      // runs servers that are started here; default python3
	Find      func(path string) string    // locates a relative path; default: as given
	LookupEnv func(string) (string, bool) // the variables of this process; default: there are none
	Note      func(text string)           // tells the user findings about a server; default: nobody
	Failed    func(err error)             // is told of the first failed episodes; default: nobody
	Output    func(line string)           // gets the output of started servers; default: nobody
	Record    func(e *Episode)            // gets every episode that ended; default: nobody. Concurrent calls.
	Ping      time.Duration               // between pings of an open socket, and for the answer to one; default 20 s
}

// Source makes environments on servers. Any number of goroutines may use it.
type Source struct {
	opts  Options
	pause []time.Duration // before each attempt to replace a lost session
	ctx   context.Context
	end   context.CancelFunc
	guard *process.Guard
	wait  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	kinds  map[string]*kind // by id

	failures env.Failures
}

// New makes a Source. Calls end with ctx.
func New(ctx context.Context, o Options) *Source {
	o.Python = cmp.Or(o.Python, "python3")
	if o.Find == nil {
		o.Find = func(path string) string { return path }
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.Ping <= 0 {
		o.Ping = 20 * time.Second
	}
	s := &Source{opts: o, kinds: map[string]*kind{}, guard: process.NewGuard(),
		pause: []time.Duration{0, 200 * time.Millisecond, time.Second, 3 * time.Second}}
	s.failures.Tell = o.Failed
	s.ctx, s.end = context.WithCancel(ctx)
	return s
}

// Close closes the sessions, and then ends the servers that were started.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	kinds := s.kinds
	s.kinds = nil
	s.mu.Unlock()
	s.end()
	for _, k := range kinds {
		if k.pool != nil {
			k.pool.close()
		}
	}
	s.wait.Wait()
	for _, k := range kinds {
		if k.web != nil {
			k.web.close()
		}
		for _, p := range k.servers {
			p.kept.Close()
		}
	}
	return s.guard.Close()
}

// background runs f on a goroutine that Close waits for.
func (s *Source) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wait.Go(f)
	return true
}

func (s *Source) noteFailure(err error) {
	if s.ctx.Err() == nil {
		s.failures.Add(err)
	}
}

// Spec tries the server of an id once and returns the environment's line of the registry. See Registry.With.
func (s *Source) Spec(id string) (env.Spec, error) {
	id = strings.TrimSpace(id)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return env.Spec{}, fmt.Errorf("env: %s: %w", id, context.Canceled)
	}
	k := s.kinds[id]
	if k == nil {
		k = &kind{source: s, id: id}
		s.kinds[id] = k
	}
	s.mu.Unlock()
	k.once.Do(func() {
		if k.err = k.describe(s.ctx); k.err != nil {
			k.err = fmt.Errorf("env: %s: %w", id, k.err)
		}
	})
	return k.spec, k.err
}
