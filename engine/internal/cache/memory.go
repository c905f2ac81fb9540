package cache

import "github.com/seed-d9ad8ee0/trinity/engine/internal/nn"

// Models with delta rules have a memory of each sequence beside its pages. It counts as so many pages.

// Remembers reports whether sequences have memories. A prefix of theirs is of use if the memory at its end was kept.
func (c *Cache) Remembers() bool { return c.memory.Layers > 0 }

// Memory returns a memory without positions. If it does not fit, it evicts cached prefixes; if that is not enough and
// force is not set, it returns nil.
func (c *Cache) Memory(force bool) *nn.Memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remember(force)
}

// remember is Memory; c.mu is held.
func (c *Cache) remember(force bool) *nn.Memory {
	n := c.memoryPages()
	if !c.fits(n) && !force {
		return nil
	}
	c.used += n
	if last := len(c.memories) - 1; last >= 0 {
		m := c.memories[last]
		c.memories = c.memories[:last]
		m.Clear()
		return m
	}
	return c.memory.New()
}

// Forgotten takes a memory back, whose sequence has ended.
func (c *Cache) Forgotten(m *nn.Memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten(m)
}

// forgotten is Forgotten; c.mu is held.
func (c *Cache) forgotten(m *nn.Memory) {
	n := c.memoryPages()
	c.used -= n
	if c.used+len(c.free)+(len(c.memories)+1)*n <= c.limit {
		c.memories = append(c.memories, m)
	}
}

// memoryPages is the number of pages that take as much memory as a sequence's memory.
func (c *Cache) memoryPages() int { return (c.memory.Bytes() + 4*c.floats - 1) / (4 * c.floats) }
