package engine

import (
	"cmp"
	"sync"
	"time"
)

// clock is the computing time that owners have had, on both sides together. Of two sides that want to compute, the
// one goes first whose most deserving owner has had less; within one owner, the side that has had less. So an owner's
// small request is not slowed by what another has under way: it goes on until it has had as much since it came. An
// owner that comes (back) begins where the least of those present stands, and so does a side: being idle saves
// nothing up. The zero value is ready; its methods may be called at the same time.
type clock struct {
	mu     sync.Mutex
	owners map[string]*used // those present
}

// used is the time of one owner.
type used struct {
	total time.Duration
	sides [2]time.Duration
	wants [2]int // what it has waiting or running on each side
}

// enter notes one more request of an owner.
func (c *clock) enter(s side, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.owners[owner]
	if u == nil {
		u = new(used)
		first := true
		for _, v := range c.owners {
			if first || v.total < u.total {
				u.total, first = v.total, false
			}
		}
		if c.owners == nil {
			c.owners = map[string]*used{}
		}
		c.owners[owner] = u
	}
	if u.wants[s] == 0 && u.wants[other(s)] > 0 {
		u.sides[s] = u.sides[other(s)]
	}
	u.wants[s]++
}

// leave notes that a request of an owner has ended.
func (c *clock) leave(s side, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.owners[owner]
	if u.wants[s]--; u.wants == [2]int{} {
		delete(c.owners, owner)
	}
}

// charge notes the time that owners have had on a side, each an equal part.
func (c *clock) charge(s side, took time.Duration, owners ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, owner := range owners {
		if u := c.owners[owner]; u != nil {
			part := took / time.Duration(len(owners))
			u.total += part
			u.sides[s] += part
		}
	}
}

// least is which of some owners has had least on a side; names decide between equals.
func (c *clock) least(s side, owners []string) (best string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var least *used
	for _, owner := range owners {
		u := c.owners[owner]
		if u == nil {
			continue
		}
		if least == nil || cmp.Or(cmp.Compare(u.total, least.total), cmp.Compare(owner, best)) < 0 {
			best, least = owner, u
		}
	}
	return best
}

// yields says whether a side that computes for some owners should give way to the other side: to an owner that has
// had no more.
func (c *clock) yields(s side, owners ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine, theirs *used
	for _, owner := range owners {
		if u := c.owners[owner]; u != nil && (mine == nil || u.total < mine.total) {
			mine = u
		}
	}
	for _, u := range c.owners {
		if u.wants[other(s)] == 0 {
			continue
		}
		if theirs == nil || u.total < theirs.total || u.total == theirs.total &&
			theirs == mine { // of equals another owner
			theirs = u
		}
	}
	switch {
	case mine == nil || theirs == nil:
		return true // whoever waits
	case mine == theirs:
		return mine.sides[other(s)] <= mine.sides[s]
	}
	return theirs.total <= mine.total
}
