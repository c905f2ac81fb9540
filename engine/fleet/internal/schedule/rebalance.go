package schedule

import "time"

const (
	hopeless  = 3.0             // times the expected time, after which a copy is late
	patience  = 5 * time.Second // and at least this much
	gain      = 1.1             // a copy must be expected this much earlier
	mostLate  = 4               // copies of a task whose copies are all late
	checkEach = 512             // copies considered at a time
)

// rebalance lets idle workers take over what others will not finish earlier.
func (p *Plan) rebalance(now time.Time) {
	for _, w := range p.order {
		for w.active() && len(w.queue) < w.Slots {
			c := p.slowest(w, now)
			if c == nil {
				break
			}
			p.take(c, w, now)
		}
	}
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

// slowest returns the copy that ends last of those that worker w would end earlier, or nil.
func (p *Plan) slowest(w *Worker, now time.Time) *copied {
	var worst *copied
	var longest float64
	for _, o := range p.order {
		for i, c := range o.queue {
			if i >= checkEach {
				break
			}
			it := c.item
			if o == w || it.tried[w.ID] || it.copyOf(w.ID) != nil {
				continue
			}
			late := p.late(c, now)
			if w.Reserve && p.crew() > 0 && !late || p.enough(it, now) {
				continue
			}
			left := p.left(c, i, now)
			mine := float64(p.rate(w, it.Kind)*it.Cost*gain) + w.Trip.Seconds()
			if (left > mine || late) && left >= longest && p.rate(w, it.Kind) > 0 || late && worst == nil {
				worst, longest = c, left
			}
		}
	}
	return worst
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

// left is the seconds until a copy, the i-th in its queue, is expected to end. One that is overdue is expected to take
// as long again as it is overdue.
func (p *Plan) left(c *copied, i int, now time.Time) float64 {
	if c.begun.IsZero() {
		before := 0.0
		for _, o := range c.worker.queue[:i+1] {
			before += float64(p.rate(c.worker, o.item.Kind) * o.cost)
		}
		return max(before-now.Sub(c.worker.since).Seconds(), 0)
	}
	left := p.expect(c) - now.Sub(c.begun).Seconds()
	if left < 0 {
		return -left
	}
	return left
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
