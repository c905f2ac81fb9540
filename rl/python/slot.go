package python

import (
	"context"
	"fmt"
	"sync/atomic"
)

// slot is the place of one process. It starts one when there is none, and forgets one that takes no more calls.
type slot struct {
	host    *Host
	index   int
	current atomic.Pointer[process]
	start   chan struct{} // holds a value while a process is being started
}

func newSlot(h *Host, index int) *slot {
	return &slot{host: h, index: index, start: make(chan struct{}, 1)}
}

// load is how many calls and sessions the process has.
func (s *slot) load() int {
	if p := s.current.Load(); p != nil {
		return p.load()
	}
	return 0
}

// process returns the current process, or starts one and waits until it is ready.
func (s *slot) process(ctx context.Context) (*process, error) {
	if p := s.current.Load(); p != nil && p.usable() {
		return p, nil
	}
	select {
	case s.start <- struct{}{}:
		defer func() { <-s.start }()
	case <-ctx.Done():
		return nil, fmt.Errorf("python: waiting for a process: %w", context.Cause(ctx))
	}
	if p := s.current.Load(); p != nil && p.usable() {
		return p, nil
	}
	p, err := startProcess(ctx, s.host, s.index)
	if err != nil {
		return nil, err
	}
	s.current.Store(p)
	return p, nil
}
