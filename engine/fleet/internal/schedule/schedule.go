// Package schedule decides which worker computes which task. It knows no network and no clock: events and the time come
// in, actions go out. So it is tested as arithmetic.
//
// The rules:
//
//   - A worker that has room takes the next task. It has room while it computes fewer tasks than it has slots, and
//     beyond that while what waits with it is less work than Prefetch; so a round trip does not starve it.
//   - Of several tenants, the one that was given the least takes its turn.
//   - Tasks of one group that share work go to the group's worker, until another worker would finish one earlier than
//     the group's worker finishes all of them.
//   - When nothing is pending, an idle worker takes what waits with another, or computes what another is computing, if
//     it will be done earlier. The first answer counts and the other copy is cancelled.
//   - Time is expected from the measured seconds per unit of cost of each worker and kind of task.
package schedule

import (
	"slices"
	"time"
)

// Task is a task as the scheduler knows it.
type Task struct {
	ID, Kind, Group string
	Tenant          string // whose task it is
	Cost, Shared    float64
	Checked         bool // wants two answers of different workers
}

// Verb is the kind of an action.
type Verb int

// The verbs: give a task to a worker, and take it back.
const (
	Give Verb = iota
	Cancel
)

// Action is a decision.
type Action struct {
	Verb   Verb
	Worker string
	Task   string
}

// Plan is the state of the scheduler. Its methods are not safe for concurrent use.
type Plan struct {
	prefetch time.Duration
	workers  map[string]*Worker
	order    []*Worker // as they came
	items    map[string]*item
	urgent   []*item  // need one more copy: checks, lost and failed tasks
	groups   []*group // with pending items, in order of arrival
	byName   map[groupKey]*group
	tenants  map[string]*tenant // with open tasks
	active   []*tenant          // the same
	pending  int
	rates    map[string]float64 // by kind, over all workers
	actions  []Action
	copies   int // given out beyond the first
}

// item is a task that is not done.
type item struct {
	Task
	copies   []*copied
	answers  int
	tried    map[string]bool // workers that answered or failed
	failures int
	listed   bool // in urgent
	waits    bool // in a group
}

// copied is a task in the queue of a worker.
type copied struct {
	item   *item
	worker *Worker
	given  time.Time
	begun  time.Time // when it is thought to have begun; zero while it waits
	cost   float64   // for this worker
}

// group is pending items of one tenant that prefer one worker.
type group struct {
	groupKey
	owner *Worker
	items []*item
	cost  float64
}

// groupKey names a group; a name of "" is for tasks that share nothing.
type groupKey struct{ tenant, name string }

// own makes a worker, or nobody, the group's worker.
func (g *group) own(w *Worker) {
	if g.owner != nil {
		g.owner.owns = slices.DeleteFunc(g.owner.owns, func(o *group) bool { return o == g })
	}
	if g.owner = w; w != nil {
		w.owns = append(w.owns, g)
	}
}

// New returns an empty plan. prefetch is the work that may wait with a worker.
func New(prefetch time.Duration) *Plan {
	return &Plan{prefetch: prefetch, workers: map[string]*Worker{}, items: map[string]*item{},
		byName: map[groupKey]*group{}, tenants: map[string]*tenant{}, rates: map[string]float64{}}
}

// Add makes a task pending. A task that is known already changes nothing.
func (p *Plan) Add(t Task) {
	if p.items[t.ID] != nil {
		return
	}
	it := &item{Task: t, tried: map[string]bool{}, waits: true}
	p.items[t.ID] = it
	p.enter(t.Tenant)
	key := groupKey{t.Tenant, t.Group}
	if t.Shared <= 0 {
		key.name = ""
	}
	g := p.byName[key]
	if g == nil {
		g = &group{groupKey: key}
		p.byName[key] = g
		p.groups = append(p.groups, g)
	}
	g.items = append(g.items, it)
	g.cost += t.Cost - t.Shared
	p.pending++
}

// Take returns the decisions since the last call.
func (p *Plan) Take() []Action {
	out := p.actions
	p.actions = nil
	return out
}

// Pending is the number of tasks that no worker has.
func (p *Plan) Pending() int { return p.pending + len(p.urgent) }

// Open is the number of tasks that are not done.
func (p *Plan) Open() int { return len(p.items) }

// Copies is the number of tasks that were given out a second time near the end.
func (p *Plan) Copies() int { return p.copies }

// Known reports whether a task is open.
func (p *Plan) Known(task string) bool { return p.items[task] != nil }

// Has reports whether a worker was given a task and has not answered it.
func (p *Plan) Has(worker, task string) bool {
	it := p.items[task]
	return it != nil && it.copyOf(worker) != nil
}

// Pump gives tasks to the workers that have room.
func (p *Plan) Pump(now time.Time) {
	room := p.withRoom(now)
	for len(room) > 0 && p.Pending() > 0 {
		w := room[0]
		it := p.choose(w, now)
		if it != nil {
			p.give(it, w, now)
		}
		if it == nil || !w.room(p.prefetch) {
			room = slices.Delete(room, 0, 1)
			continue
		}
		sift(room, now)
	}
	if p.pending == 0 {
		p.rebalance(now)
	}
}

// withRoom returns the workers that may take a task, the one that will be idle first at the head.
func (p *Plan) withRoom(now time.Time) []*Worker {
	var room []*Worker
	for _, w := range p.order {
		if w.active() && w.room(p.prefetch) {
			w.sorted = w.backlog(now)
			room = append(room, w)
		}
	}
	slices.SortStableFunc(room, func(a, b *Worker) int { return a.before(b) })
	return room
}

// sift moves the first worker to its place after it was given a task.
func sift(room []*Worker, now time.Time) {
	w := room[0]
	w.sorted = w.backlog(now)
	at, _ := slices.BinarySearchFunc(room[1:], w, func(a, b *Worker) int {
		if a.before(b) <= 0 {
			return -1
		}
		return 1
	})
	copy(room, room[1:1+at])
	room[at] = w
}

// choose takes the next item for a worker off the lists, or returns nil.
func (p *Plan) choose(w *Worker, now time.Time) *item {
	for i, it := range p.urgent {
		if !it.tried[w.ID] && it.copyOf(w.ID) == nil {
			p.urgent = slices.Delete(p.urgent, i, i+1)
			it.listed = false
			return it
		}
	}
	if w.Reserve && p.crew() > 0 {
		return nil
	}
	for _, t := range p.leastServed() {
		if g := p.pick(w, t.name, now); g != nil {
			return p.pop(g)
		}
	}
	return nil
}

// pick returns the group of a tenant whose next item a worker should take: its own, one of nobody, or one whose worker
// has so much that it is not done before this worker has computed one more.
func (p *Plan) pick(w *Worker, tenant string, now time.Time) *group {
	if i := slices.IndexFunc(w.owns, func(g *group) bool { return g.tenant == tenant }); i >= 0 {
		return w.owns[i]
	}
	var most *group
	for _, g := range p.groups {
		if g.tenant != tenant {
			continue
		}
		if g.name == "" || g.owner == nil || !g.owner.active() {
			if g.name != "" {
				g.own(w)
			}
			return g
		}
		if most == nil || g.cost > most.cost {
			most = g
		}
	}
	if most == nil {
		return nil
	}
	it := most.items[0]
	finish := most.owner.backlog(now) + float64(p.rate(most.owner, it.Kind)*most.cost)
	if finish <= w.backlog(now)+float64(p.rate(w, it.Kind)*it.Cost) {
		return nil
	}
	return most
}

// pop takes the first item of a group.
func (p *Plan) pop(g *group) *item {
	it := g.items[0]
	g.items[0] = nil
	g.items = g.items[1:]
	g.cost -= it.Cost - it.Shared
	p.drop(g)
	p.pending--
	it.waits = false
	return it
}

// drop forgets a group without items.
func (p *Plan) drop(g *group) {
	if len(g.items) > 0 {
		return
	}
	g.own(nil)
	delete(p.byName, g.groupKey)
	if i := slices.Index(p.groups, g); i >= 0 {
		p.groups = slices.Delete(p.groups, i, i+1)
	}
}

// give puts a copy of an item into the queue of a worker.
func (p *Plan) give(it *item, w *Worker, now time.Time) {
	cost := max(it.Cost, 1)
	if it.Shared > 0 && slices.Contains(w.recent, it.Group) {
		cost = max(cost-it.Shared, 1)
	} else if it.Shared > 0 {
		w.remember(it.Group)
	}
	c := &copied{item: it, worker: w, given: now, cost: cost}
	it.copies = append(it.copies, c)
	p.tenants[it.Tenant].given += cost
	w.push(c, now, p.rate(w, it.Kind))
	p.actions = append(p.actions, Action{Give, w.ID, it.ID})
	p.want(it)
}

// want lists an item that needs one more copy than it has.
func (p *Plan) want(it *item) {
	wanted := 1
	if it.Checked {
		wanted = 2
	}
	if it.answers+len(it.copies) < wanted && !it.listed && !it.waits {
		it.listed = true
		p.urgent = append(p.urgent, it)
	}
}

// Answered notes a worker's answer; seconds is its share of the worker's computing time. The caller then says Done, or
// Again if the answer does not settle the task.
func (p *Plan) Answered(worker, task string, seconds float64, now time.Time) {
	it := p.items[task]
	if it == nil {
		return
	}
	if c := it.copyOf(worker); c != nil {
		p.measure(c, seconds)
		p.remove(c, now)
	}
	it.answers++
	it.tried[worker] = true
}

// Failed notes that a worker did not compute a task; it goes to another. It returns how often that happened.
func (p *Plan) Failed(worker, task string, now time.Time) int {
	it := p.items[task]
	if it == nil {
		return 0
	}
	if c := it.copyOf(worker); c != nil {
		p.remove(c, now)
	}
	it.tried[worker] = true
	it.failures++
	p.want(it)
	return it.failures
}

// Again asks for one more answer, of a worker that has not answered.
func (p *Plan) Again(task string) {
	it := p.items[task]
	if it == nil || it.listed {
		return
	}
	it.listed = true
	p.urgent = append(p.urgent, it)
}

// Disregard takes back that a worker answered a task; another is asked.
func (p *Plan) Disregard(task string) {
	if it := p.items[task]; it != nil && it.answers > 0 {
		it.answers--
		p.want(it)
	}
}

// Done ends a task and cancels its other copies.
func (p *Plan) Done(task string, now time.Time) {
	it := p.items[task]
	if it == nil {
		return
	}
	delete(p.items, task)
	p.exit(it.Tenant)
	for _, c := range slices.Clone(it.copies) {
		p.remove(c, now)
		p.actions = append(p.actions, Action{Cancel, c.worker.ID, task})
	}
	if it.listed {
		p.urgent = slices.DeleteFunc(p.urgent, func(o *item) bool { return o == it })
	}
	if it.waits {
		p.withdraw(it)
	}
}

// withdraw takes a pending item out of its group.
func (p *Plan) withdraw(it *item) {
	for _, g := range p.groups {
		if i := slices.Index(g.items, it); i >= 0 {
			g.items = slices.Delete(g.items, i, i+1)
			g.cost -= it.Cost - it.Shared
			p.pending--
			p.drop(g)
			return
		}
	}
}

// Possible reports whether a worker that is there could give one more answer to a task.
func (p *Plan) Possible(task string) bool {
	it := p.items[task]
	if it == nil {
		return false
	}
	for _, w := range p.order {
		if (w.active() || it.copyOf(w.ID) != nil) && !it.tried[w.ID] {
			return true
		}
	}
	return false
}

// Stuck lists tasks for which every worker that is there has been tried.
func (p *Plan) Stuck() []string {
	var ids []string
	for _, it := range p.urgent {
		if len(it.copies) == 0 && len(it.tried) > 0 && !p.Possible(it.ID) {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// remove takes a copy out of its worker's queue.
func (p *Plan) remove(c *copied, now time.Time) {
	c.item.copies = slices.DeleteFunc(c.item.copies, func(o *copied) bool { return o == c })
	c.worker.pull(c, now)
}

func (it *item) copyOf(worker string) *copied {
	for _, c := range it.copies {
		if c.worker.ID == worker {
			return c
		}
	}
	return nil
}
