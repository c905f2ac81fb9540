package schedule

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	hopeless  = 3.0             // times the expected time, after which a copy is late
	patience  = 5 * time.Second // and at least this much
	gain      = 1.1             // a copy must be expected this much earlier
	mostLate  = 4               // copies of a task whose copies are all late
	checkEach = 512             // copies considered at a time
	slack     = 0.1             // seconds by which a copy is overdue because of messages
)

// ending is a copy and when it is expected to end.
type ending struct {
	*copied
	left float64 // seconds
	late bool
}

// endings are all copies: those that are late first, then those that end last.
type endings struct {
	list  []ending
	least map[string]float64 // the smallest cost, by kind
}

// rebalance lets idle workers take over what others will not finish earlier.
func (p *Plan) rebalance(now time.Time) {
	var ends *endings
	alone := p.crew() == 0
	for _, w := range p.order {
		for w.active() && len(w.queue) < w.Slots {
			if ends == nil {
				ends = p.endings(now)
			}
			c := p.slowest(ends, w, w.Reserve && !alone, now)
			if c == nil {
				break
			}
			p.take(c, w, now)
		}
	}
}

// endings lists what the workers compute.
func (p *Plan) endings(now time.Time) *endings {
	e := &endings{least: map[string]float64{}}
	for _, w := range p.order {
		ends := 0.0 // of the copies before
		for i, c := range w.queue {
			if i >= checkEach {
				break
			}
			if c.begun.IsZero() {
				ends += float64(p.rate(w, c.item.Kind) * c.cost)
			} else {
				ends = max(ends, p.left(c, now))
			}
			e.list = append(e.list, ending{c, ends, p.late(c, now)})
			if least, known := e.least[c.item.Kind]; !known || c.item.Cost < least {
				e.least[c.item.Kind] = c.item.Cost
			}
		}
	}
	slices.SortStableFunc(e.list, func(a, b ending) int {
		if a.late != b.late {
			if a.late {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.left, a.left)
	})
	return e
}

// take gives a copy's task to another worker. If it still waits, it is a move, otherwise a second copy.
func (p *Plan) take(c *copied, w *Worker, now time.Time) {
	it := c.item
	if c.begun.IsZero() {
		p.remove(c, now)
		p.actions = append(p.actions, Action{Cancel, c.worker.ID, it.ID})
	} else {
		p.copies++
	}
	p.give(it, w, now)
}

// slowest returns the copy that ends last of those that worker w would end earlier, or nil. A worker that computes only
// what is urgent takes only those that are late.
func (p *Plan) slowest(ends *endings, w *Worker, urgent bool, now time.Time) *copied {
	soonest := p.soonest(ends, w)
	var unknown *copied
	for _, e := range ends.list {
		it := e.item
		if !e.late && (urgent || e.left <= soonest) {
			break
		}
		if e.worker == w || it.tried[w.ID] || it.copyOf(w.ID) != nil || it.copyOf(e.worker.ID) != e.copied ||
			p.enough(it, now) {
			continue
		}
		rate := p.rate(w, it.Kind)
		beside := float64(len(w.queue) + 1) // free slots do not make its processor faster
		switch {
		case rate == 0 && e.late && unknown == nil:
			unknown = e.copied
		case rate > 0 && (e.late || e.left > float64(rate*it.Cost*gain*beside)+w.Trip.Seconds()):
			return e.copied
		}
	}
	return unknown
}

// soonest is a bound below of the seconds that a worker needs for any of these copies.
func (p *Plan) soonest(e *endings, w *Worker) float64 {
	soonest := math.Inf(1)
	for kind, cost := range e.least {
		soonest = min(soonest, float64(p.rate(w, kind)*cost*gain))
	}
	return soonest + w.Trip.Seconds()
}

// enough reports whether a task has as many copies as it may.
func (p *Plan) enough(it *item, now time.Time) bool {
	most := 2
	if it.Checked {
		most = 3
	}
	if len(it.copies) < most-it.answers {
		return false
	}
	for _, c := range it.copies {
		if !p.late(c, now) {
			return true
		}
	}
	return len(it.copies) >= mostLate
}

// expect is the seconds that a worker needs for a copy beside the others that it computes.
func (p *Plan) expect(c *copied) float64 {
	return float64(p.rate(c.worker, c.item.Kind) * c.cost * float64(min(len(c.worker.queue), c.worker.Slots)))
}

// left is the seconds until a copy that has begun is expected to end. One that is overdue by more than slack is
// expected to take as long again as it is overdue.
func (p *Plan) left(c *copied, now time.Time) float64 {
	left := p.expect(c) - now.Sub(c.begun).Seconds()
	if left < -slack {
		return -left
	}
	return max(left, 0)
}

// late reports whether a copy takes so long that its worker may hang.
func (p *Plan) late(c *copied, now time.Time) bool {
	expected := p.expect(c)
	if c.begun.IsZero() || expected == 0 {
		return false
	}
	took := now.Sub(c.begun)
	return took > patience && took.Seconds() > hopeless*expected
}

// Late asks for second copies of tasks whose workers may hang, also while others are pending.
func (p *Plan) Late(now time.Time) {
	for _, w := range p.order {
		for _, c := range w.queue {
			if p.late(c, now) && !p.enough(c.item, now) && !c.item.listed {
				p.copies++
				p.Again(c.item.ID)
			}
		}
	}
}
