package engine

import (
	"cmp"
	"math"
	"slices"
)

// plan fills the batch: every sample under way, then prompts up to the bound, those first whose party has had least.
// When pages run out sequences give theirs back, to compute them again later. The oldest for whom there were none comes
// first the next time: else some who need few could take them in turns for ever, from one who needs many.
//
// Each step is the step of one owner, the one that has had the least computing time, who is charged with it. Everybody
// else joins in with as many tokens as the leader has at most, so that the step of one who has few takes about as long
// as he would need alone.
func (c *scheduler) plan() {
	c.mu.Lock() // for the shares
	defer c.mu.Unlock()
	c.batch = c.batch[:0]
	short, last := c.short, c.short
	c.short = nil
	for _, l := range c.sequences {
		l.planned, l.short, l.take = false, false, 0
	}
	c.leader = c.lead()
	budget := prefillTokens
	mine := func(l *sequence) bool { return l.owner().name == c.leader }
	c.force = !slices.ContainsFunc(c.sequences, func(l *sequence) bool { return !mine(l) && !l.idle() })
	c.share(mine, math.MaxInt, &budget, &short)
	c.force = true
	rows := 0
	for _, l := range c.batch {
		rows += l.take
	}
	if rows == 0 { // no pages for the leader: the others may end and give theirs back
		rows = math.MaxInt
	}
	c.share(func(l *sequence) bool { return !mine(l) }, rows, &budget, &short)
	if i := slices.IndexFunc(c.sequences, func(l *sequence) bool { return l.short || l == last && !l.planned && !l.idle() }); i >= 0 {
		c.short = c.sequences[i]
	}
	slices.SortStableFunc(c.batch, func(a, b *sequence) int {
		v, w := a.s.version, b.s.version
		return cmp.Or(cmp.Compare(v.weights, w.weights), cmp.Compare(v.id, w.id))
	})
}

// lead is the owner whose step the next one is.
func (c *scheduler) lead() string {
	var names []string
	for _, l := range c.sequences {
		if name := l.owner().name; !l.idle() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return c.e.turn.clock.least(forSamples, names)
}

// share fills the batch with the sequences that are meant, at most so many tokens of each owner.
func (c *scheduler) share(meant func(*sequence) bool, most int, budget *int, short **sequence) {
	for _, l := range c.sequences { // samples under way
		if meant(l) {
			l.owner().room = most
		}
	}
	for _, l := range c.sequences {
		if meant(l) && l.done > 0 && len(l.tokens)-l.done == 1 && l.owner().room > 0 && c.space(l, 1) {
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
		n := min(l.owner().room, *budget)
		if n == 0 {
			continue
		}
		l.resume()
		if n = min(len(l.tokens)-l.done, n); c.space(l, n) {
			c.include(l, n)
			*budget -= n
		} else {
			l.short = true
		}
	}
}

// leastServed is the place of the first sequence whose party comes before the others'.
func leastServed(sequences []*sequence) (best int) {
	for i, l := range sequences {
		if l.s.queue.share.compare(sequences[best].s.queue.share) < 0 {
			best = i
		}
	}
	return best
}

func (c *scheduler) include(l *sequence, n int) {
	l.planned, l.take = true, n
	l.owner().room -= n
	l.s.queue.share.charge(int64(n))
	c.batch = append(c.batch, l)
}

// space finds pages for a sequence's next n tokens.
func (c *scheduler) space(l *sequence, n int) bool {
	for !l.room(n, false) {
		victim := c.victim(l, n)
		if victim == nil {
			return c.force && len(c.batch) == 0 && l.room(n, true) // alone it may go beyond the budget
		}
		if victim.planned {
			c.batch = slices.DeleteFunc(c.batch, func(b *sequence) bool { return b == victim })
			victim.owner().room += victim.take
			victim.planned, victim.take = false, 0
		}
		victim.drop()
	}
	return true
}

// victim is the sequence that gives its pages of the same cache for l's next n tokens: of the owners that hold more than
// l's would then, the one with most, and of his sequences the youngest; else the youngest of l's own behind l that is not
// in the batch.
func (c *scheduler) victim(l *sequence, n int) (best *sequence) {
	held := map[*share]int{}
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
		case held[v.owner()] <= held[l.owner()]+pagesFor(n)+len(v.pages):
			continue
		}
		if best == nil || held[v.owner()] > held[best.owner()] {
			best = v
		}
	}
	return best
}
