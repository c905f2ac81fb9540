package workflow

import (
	"context"
	"sync"
)

// Slots bound how many things run at a time, by a key. The zero value is ready to use, by any number of goroutines.
type Slots struct {
	mu    sync.Mutex
	taken map[string]chan struct{}
}

// Enter waits until fewer than most run with the key. The caller calls leave at the end.
func (s *Slots) Enter(ctx context.Context, key string, most int) (leave func(), err error) {
	s.mu.Lock()
	slots := s.taken[key]
	if slots == nil {
		slots = make(chan struct{}, most)
		if s.taken == nil {
			s.taken = map[string]chan struct{}{}
		}
		s.taken[key] = slots
	}
	s.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
