package fair

import (
	"cmp"
	"sync"
	"time"
)

// clock is the computing time that each tenant has used in training and sampling together. Of the two sides, the one
// goes first whose least-served tenant has used less time; within one tenant, the side that has used less. So a
// tenant's small request is not slowed down by another tenant's large one. A tenant, and a side, that becomes active
// starts at the least time of the active ones: being idle earns no credit. The zero value is ready; its methods are
// safe for concurrent use.
type clock struct {
	mu     sync.Mutex
	owners map[string]*tenantTime // active tenants
}

// tenantTime is the time of one tenant.
type tenantTime struct {
	total time.Duration
	sides [2]time.Duration
	wants [2]int // requests that wait or run on each side
}

// Enter counts one more request of a tenant.
func (c *clock) Enter(s side, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.owners[owner]
	if u == nil {
		u = new(tenantTime)
		first := true
		for _, v := range c.owners {
			if first || v.total < u.total {
				u.total, first = v.total, false
			}
		}
		if c.owners == nil {
			c.owners = map[string]*tenantTime{}
		}
		c.owners[owner] = u
	}
	if u.wants[s] == 0 && u.wants[other(s)] > 0 {
		u.sides[s] = u.sides[other(s)]
	}
	u.wants[s]++
}

// Leave counts a request of a tenant as ended.
func (c *clock) Leave(s side, owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.owners[owner]
	if u.wants[s]--; u.wants == [2]int{} {
		delete(c.owners, owner)
	}
}

// Charge divides a time equally among the tenants that it was spent for.
func (c *clock) Charge(s side, took time.Duration, owners ...string) {
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

// Least is the tenant that has used the least time on a side; ties go by name.
func (c *clock) Least(s side, owners []string) (best string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var least *tenantTime
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

// Waiting is the number of requests that wait or run on a side.
func (c *clock) Waiting(s side) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.owners {
		n += u.wants[s]
	}
	return n
}

// yields reports whether a side that computes for some tenants should yield to the other side: to a tenant that has
// used no more time.
func (c *clock) yields(s side, owners ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine, theirs *tenantTime
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
			theirs == mine { // prefer another tenant in a tie
			theirs = u
		}
	}
	switch {
	case mine == nil || theirs == nil:
		return true // to any waiting tenant
	case mine == theirs:
		return mine.sides[other(s)] <= mine.sides[s]
	}
	return theirs.total <= mine.total
}
