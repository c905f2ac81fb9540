package sampler

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
)

// plan fills the batch: first the samples in progress, then prompts up to the limit, in order of their shares. When
// pages run out, sequences release theirs and recompute them later. The sequence that has waited longest for KV
// pages is scheduled first in the next step; otherwise sequences that need few pages could starve one that needs
// many.
//
// Each step is charged to one tenant, the leader: the one that has used the least computing time. Every other tenant
// may add as many tokens as the leader has, so that the step of a tenant with little work takes about as long as it
// would alone.
func (c *Scheduler) plan() {
	c.mu.Lock() // for the shares
	defer c.mu.Unlock()
	c.batch = c.batch[:0]
	short, last := c.short, c.short
	c.short = nil
	for _, l := range c.sequences {
		l.planned, l.short, l.take = false, false, 0
	}
	c.leader = c.lead()
	budget := PrefillTokens
	mine := func(l *sequence) bool { return l.owner().Name == c.leader }
	c.force = !slices.ContainsFunc(c.sequences, func(l *sequence) bool { return !mine(l) && !l.idle() })
	c.share(mine, math.MaxInt, &budget, &short)
	c.force = true
	rows := 0
	for _, l := range c.batch {
		rows += l.take
	}
	if rows == 0 { // no pages for the leader: other sequences may end and release theirs
		rows = math.MaxInt
	}
	c.share(func(l *sequence) bool { return !mine(l) }, rows, &budget, &short)
	if i := slices.IndexFunc(c.sequences, func(l *sequence) bool {
		return l.short || l == last && !l.planned && !l.idle()
	}); i >= 0 {
		c.short = c.sequences[i]
	}
	for _, l := range c.batch {
		l.follow()
	}
	slices.SortStableFunc(c.batch, func(a, b *sequence) int {
		v, w := a.version(), b.version()
		return cmp.Or(cmp.Compare(v.Weights, w.Weights), cmp.Compare(v.ID, w.ID))
	})
}

// lead is the tenant that the next step is charged to.
func (c *Scheduler) lead() string {
	var names []string
	for _, l := range c.sequences {
		if name := l.owner().Name; !l.idle() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return c.Turn.Clock.Least(fair.ForSamples, names)
}

// share adds the sequences that meant selects to the batch, at most that many tokens of each tenant.
func (c *Scheduler) share(meant func(*sequence) bool, most int, budget *int, short **sequence) {
	for _, l := range c.sequences { // samples in progress
		if meant(l) {
			l.owner().Room = most
		}
	}
	for _, l := range c.sequences {
		if meant(l) && l.done > 0 && len(l.tokens)-l.done == 1 && l.owner().Room > 0 && c.space(l, 1) {
			c.include(l, 1)
		}
	}
	waiting := c.some[:0]
	defer func() { clear(c.some[:cap(c.some)]) }()
	for _, l := range c.sequences {
		if meant(l) && !l.planned && !l.idle() {
			waiting = append(waiting, l)
		}
	}
	c.some = waiting
	for *budget > 0 && len(waiting) > 0 {
		i := leastServed(waiting)
		if j := slices.Index(waiting, *short); j >= 0 {
			i, *short = j, nil
		}
		l := waiting[i]
		waiting = slices.Delete(waiting, i, i+1)
		n := min(l.owner().Room, *budget)
		if n == 0 {
			continue
		}
		l.resume()
		if n = min(l.rest(), n); c.space(l, n) {
			c.include(l, n)
			*budget -= n
		} else {
			l.short = true
		}
	}
}

// leastServed is the index of the first sequence whose share comes before the others'.
func leastServed(sequences []*sequence) (best int) {
	for i, l := range sequences {
		if l.s.queue.share.Compare(sequences[best].s.queue.share) < 0 {
			best = i
		}
	}
	return best
}

func (c *Scheduler) include(l *sequence, n int) {
	l.planned, l.take = true, n
	l.owner().Room -= n
	l.s.queue.share.Charge(int64(n))
	c.batch = append(c.batch, l)
}

// space finds pages for a sequence's next n tokens.
func (c *Scheduler) space(l *sequence, n int) bool {
	for !l.room(n, false) {
		victim := c.victim(l, n)
		if victim == nil {
			return c.force && len(c.batch) == 0 && l.room(n, true) // alone it may exceed the budget
		}
		if victim.planned {
			c.batch = slices.DeleteFunc(c.batch, func(b *sequence) bool { return b == victim })
			victim.owner().Room += victim.take
			victim.planned, victim.take = false, 0
		}
		victim.drop()
	}
	return true
}

// victim is the sequence that releases its pages of the same cache for l's next n tokens. Of the tenants that would
// still hold more than l's tenant, it takes the youngest sequence of the one that holds most; otherwise the youngest
// sequence of l's own tenant that is younger than l and not in the batch.
func (c *Scheduler) victim(l *sequence, n int) (best *sequence) {
	held := map[*fair.Share]int{}
	for _, v := range c.sequences {
		if v.cache() == l.cache() {
			held[v.owner()] += len(v.pages)
		}
	}
	behind := true
	for _, v := range slices.Backward(c.sequences) {
		switch {
		case v == l:
			behind = false
			continue
		case len(v.pages) == 0 || v.cache() != l.cache():
			continue
		case v.owner() == l.owner():
			if !behind || v.planned {
				continue
			}
		case held[v.owner()] <= held[l.owner()]+cache.PagesFor(n)+len(v.pages):
			continue
		}
		if best == nil || held[v.owner()] > held[best.owner()] {
			best = v
		}
	}
	return best
}
