package fleet

import (
	"sync"
	"time"
)

// Room is how many tasks the workers would begin now, beyond those they were given: their slots less the latter. It is
// 0 without workers, and may be negative.
func (h *Head) Room() (n int) {
	now := time.Now()
	h.eachActive(func(id string, m *member) { n += m.about.Slots - h.plan.Report(id, now).Given })
	return n
}

// Workers is the number of workers that take tasks.
func (h *Head) Workers() (n int) {
	h.eachActive(func(string, *member) { n++ })
	return n
}

// Speed is the sum of what the workers that take tasks say of their speed.
func (h *Head) Speed() (sum float64) {
	h.eachActive(func(_ string, m *member) { sum += m.about.Speed })
	return sum
}

// eachActive calls f with the workers that take tasks, with the lock held.
func (h *Head) eachActive(f func(id string, m *member)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, m := range h.crew {
		if m.here && m.paused == "" && !m.leaving && !m.draining && m.refused == "" && !h.liars[id] {
			f(id, m)
		}
	}
}

// Changed returns a channel that is closed when Room, Workers or Speed may have grown. Take it before reading them.
func (h *Head) Changed() <-chan struct{} { return h.changes.next() }

// changes tells any number of readers that something changed.
type changes struct {
	mu   sync.Mutex
	told chan struct{}
}

func (c *changes) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = make(chan struct{})
	}
	return c.told
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told != nil {
		close(c.told)
		c.told = nil
	}
}
