package proxy

import (
	"maps"
	"slices"
	"time"
)

// idleAfter is how long a rollout that its first call began may go without another call before it is given up: a
// program that ended without a reward does not tell. The same id begins anew.
const idleAfter = 24 * time.Hour

// giveUpIdle gives such rollouts up. It looks once an hour.
func (s *rollouts) giveUpIdle() {
	s.mu.Lock()
	now := s.now()
	if now.Before(s.look) {
		s.mu.Unlock()
		return
	}
	s.look = now.Add(time.Hour)
	open := slices.Collect(maps.Values(s.open))
	s.mu.Unlock()
	for _, r := range open { // without mu: a call that is added takes it
		if r.idle(now) >= idleAfter {
			s.remove(r, nil)
		}
	}
}

// idle is how long the last call of a rollout is over, or how long ago it began.
func (r *rollout) idle(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.opened
	for _, c := range r.tree.calls {
		if end := c.begun.Add(c.took); end.After(last) {
			last = end
		}
	}
	return now.Sub(last)
}
