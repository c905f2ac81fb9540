package python

import (
	"context"
	"sync"
)

// slot is the place of one process. It starts one when there is none that takes calls.
type slot struct {
	host  *Host
	index int

	mu       sync.Mutex
	current  *process
	starting *start // nil when none is
}

// start is a process that is being started. It does not depend on the context of a call: several may wait for it, and
// imports may take longer than a call may.
type start struct {
	done chan struct{}
	p    *process
	err  error
}

// load is how many calls and sessions the process has.
func (s *slot) load() int {
	s.mu.Lock()
	p := s.current
	s.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.load()
}

// process returns the current process, or waits until one is started and ready.
func (s *slot) process(ctx context.Context) (*process, error) {
	s.mu.Lock()
	if s.current != nil && s.current.usable() {
		defer s.mu.Unlock()
		return s.current, nil
	}
	if s.starting == nil {
		next := &start{done: make(chan struct{})}
		if !s.host.spawn(func() { s.run(next) }) {
			s.mu.Unlock()
			return nil, &Lost{Call: "start", Process: s.index, Reason: ErrClosed}
		}
		s.starting = next
	}
	waiting := s.starting
	s.mu.Unlock()
	select {
	case <-waiting.done:
		return waiting.p, waiting.err
	case <-ctx.Done():
		return nil, &Cancelled{Call: "start", Cause: context.Cause(ctx)}
	}
}

// run starts the process.
func (s *slot) run(next *start) {
	next.p, next.err = startProcess(s.host.ctx, s.host, s.index)
	s.mu.Lock()
	s.current, s.starting = next.p, nil
	s.mu.Unlock()
	close(next.done)
}
