package schedule

import (
	"cmp"
	"slices"
	"time"
)

const (
	mostWaiting  = 64  // tasks that wait with a worker, beyond its slots
	mostRecent   = 64  // groups whose shared work a worker is thought to hold
	newest       = 0.3 // weight of the newest measurement of a speed
	tripsWaiting = 4   // round trips of work that wait with a worker
)

// Worker is a worker as the scheduler knows it.
type Worker struct {
	ID      string
	Slots   int
	Reserve bool          // computes only what is urgent, unless nobody else is there
	Trip    time.Duration // of a message to it and back

	paused, leaving bool
	queue           []*copied          // in the order in which it computes them
	seconds         map[string]float64 // per unit of cost, by kind
	recent          []string           // groups
	owns            []*group           // with pending items
	since           time.Time          // of the work in its queue: it began, or ended a task
	expected        float64            // seconds of work in the queue at since
	sorted          float64
	done            int
	spent           float64 // seconds of answered tasks
	cost            float64
}

// Join makes a worker known, or changes its slots.
func (p *Plan) Join(w Worker) {
	if old := p.workers[w.ID]; old != nil {
		old.Slots, old.Reserve, old.leaving = w.Slots, w.Reserve, false
		return
	}
	w.seconds = map[string]float64{}
	known := &w
	p.workers[w.ID] = known
	p.order = append(p.order, known)
}

// Present notes how a worker is. It gets no more tasks while it is paused or leaving.
func (p *Plan) Present(worker string, trip time.Duration, paused, leaving bool) {
	if w := p.workers[worker]; w != nil {
		w.Trip, w.paused, w.leaving = trip, paused, leaving
	}
}

// Lost forgets a worker. Its tasks go to others. It returns their ids.
func (p *Plan) Lost(worker string, now time.Time) []string {
	w := p.workers[worker]
	if w == nil {
		return nil
	}
	ids := p.Return(worker, now)
	delete(p.workers, worker)
	p.order = slices.DeleteFunc(p.order, func(o *Worker) bool { return o == w })
	for len(w.owns) > 0 {
		w.owns[0].own(nil)
	}
	return ids
}

// Return takes all tasks back from a worker.
func (p *Plan) Return(worker string, now time.Time) []string {
	w := p.workers[worker]
	if w == nil {
		return nil
	}
	var ids []string
	for _, c := range slices.Clone(w.queue) {
		p.remove(c, now)
		p.want(c.item)
		ids = append(ids, c.item.ID)
	}
	return ids
}

// Release takes those tasks back from a worker that it has not begun.
func (p *Plan) Release(worker string, now time.Time) {
	w := p.workers[worker]
	if w == nil {
		return
	}
	for _, c := range slices.Clone(w.queue) {
		if c.begun.IsZero() {
			p.remove(c, now)
			p.want(c.item)
			p.actions = append(p.actions, Action{Cancel, worker, c.item.ID})
		}
	}
}

// Queue lists the tasks that a worker was given at least this long ago.
func (p *Plan) Queue(worker string, age time.Duration, now time.Time) []string {
	w := p.workers[worker]
	if w == nil {
		return nil
	}
	var ids []string
	for _, c := range w.queue {
		if now.Sub(c.given) >= age {
			ids = append(ids, c.item.ID)
		}
	}
	return ids
}

// Sent notes that a task was sent to a worker once more.
func (p *Plan) Sent(worker, task string, now time.Time) {
	if it := p.items[task]; it != nil {
		if c := it.copyOf(worker); c != nil {
			c.given = now
		}
	}
}

// Report is how a worker stands.
type Report struct {
	Given   int     // tasks in its queue
	Done    int     // answers
	Speed   float64 // cost per second; 0: not measured
	Backlog float64 // seconds until its queue is empty
	Spent   float64 // seconds of computing
	Cost    float64 // of its answers
}

// Plus adds the totals of another time.
func (r Report) Plus(o Report) Report {
	sum := Report{Done: r.Done + o.Done, Spent: r.Spent + o.Spent, Cost: r.Cost + o.Cost}
	if sum.Spent > 0 {
		sum.Speed = sum.Cost / sum.Spent
	}
	return sum
}

// Report describes a worker.
func (p *Plan) Report(worker string, now time.Time) Report {
	w := p.workers[worker]
	if w == nil {
		return Report{}
	}
	r := Report{Given: len(w.queue), Done: w.done, Backlog: w.backlog(now), Spent: w.spent, Cost: w.cost}
	if w.spent > 0 {
		r.Speed = w.cost / w.spent
	}
	return r
}

// active reports whether a worker may get tasks.
func (w *Worker) active() bool { return !w.paused && !w.leaving }

// crew is the number of active workers that are no reserve.
func (p *Plan) crew() int {
	n := 0
	for _, w := range p.order {
		if w.active() && !w.Reserve {
			n++
		}
	}
	return n
}

// Crew is the number of workers that may get tasks, without the reserve.
func (p *Plan) Crew() int { return p.crew() }

func (w *Worker) before(o *Worker) int {
	return cmp.Or(cmp.Compare(w.sorted, o.sorted), cmp.Compare(len(w.queue), len(o.queue)))
}

// room reports whether a worker may take one more task.
func (w *Worker) room(prefetch time.Duration) bool {
	waiting := len(w.queue) - w.Slots
	switch {
	case waiting < 0:
		return true
	case w.Reserve || len(w.seconds) == 0 || waiting >= max(mostWaiting, w.Slots):
		return false
	}
	enough := max(prefetch, tripsWaiting*w.Trip).Seconds()
	var seconds float64
	for _, c := range w.queue[w.Slots:] {
		seconds += float64(c.cost * w.seconds[c.item.Kind])
	}
	return waiting == 0 || seconds < enough
}

// backlog is the seconds until the queue is empty, as far as speeds are known.
func (w *Worker) backlog(now time.Time) float64 {
	if len(w.queue) == 0 {
		return 0
	}
	return max(w.expected-now.Sub(w.since).Seconds(), 0)
}

// push appends a copy to the queue.
func (w *Worker) push(c *copied, now time.Time, rate float64) {
	if len(w.queue) == 0 {
		w.since, w.expected = now, 0
	}
	w.expected += float64(rate * c.cost)
	w.queue = append(w.queue, c)
	w.begin(now)
}

// pull takes a copy out of the queue.
func (w *Worker) pull(c *copied, now time.Time) {
	w.queue = slices.DeleteFunc(w.queue, func(o *copied) bool { return o == c })
	w.expected = 0
	for _, o := range w.queue {
		w.expected += float64(w.seconds[o.item.Kind] * o.cost)
	}
	w.since = now
	for i, o := range w.queue {
		if i < w.Slots && !o.begun.IsZero() {
			w.expected -= min(w.seconds[o.item.Kind]*o.cost, now.Sub(o.begun).Seconds()/float64(max(1, w.Slots)))
		}
	}
	w.begin(now)
}

// begin notes which copies the worker is computing.
func (w *Worker) begin(now time.Time) {
	for i := range min(w.Slots, len(w.queue)) {
		if c := w.queue[i]; c.begun.IsZero() {
			c.begun = now
		}
	}
}

// remember notes that a worker computed a task of a group.
func (w *Worker) remember(group string) {
	w.recent = append(w.recent, group)
	if len(w.recent) > mostRecent {
		w.recent = slices.Delete(w.recent, 0, 1)
	}
}

// measure updates the speeds by an answer.
func (p *Plan) measure(c *copied, seconds float64) {
	w, kind := c.worker, c.item.Kind
	w.done++
	w.spent += seconds
	w.cost += c.cost
	for _, rates := range []map[string]float64{w.seconds, p.rates} {
		if old, known := rates[kind]; known {
			rates[kind] = old + float64(newest*(seconds/c.cost-old))
		} else {
			rates[kind] = seconds / c.cost
		}
	}
}

// rate is the seconds that a worker needs per unit of cost: its own, or the mean of all workers; 0 if nobody knows.
func (p *Plan) rate(w *Worker, kind string) float64 {
	if own, known := w.seconds[kind]; known {
		return own
	}
	return p.rates[kind]
}
