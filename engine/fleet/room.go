package fleet

import (
	"sync"
	"time"
)

// Room is how many tasks the workers would begin now, beyond those they were given: their slots less the latter. It is
// 0 without workers, and may be negative.
func (h *Head) Room() (n int) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, m := range h.crew.active() {
		n += m.about.Slots - h.plan.Report(id, now).Given
	}
	return n
}

// Workers is the number of workers that take tasks.
func (h *Head) Workers() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for range h.crew.active() {
		n++
	}
	return n
}

// Speed is the sum of what the workers that take tasks say of their speed.
func (h *Head) Speed() (sum float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.crew.active() {
		sum += m.about.Speed
	}
	return sum
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
