package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world plays workers of fixed speeds against a plan, in virtual time.
type world struct {
	t     *testing.T
	p     *Plan
	now   time.Time
	speed map[string]float64 // cost per second; 0: it hangs
	queue map[string][]string
	ends  map[string]time.Time
	cost  map[string]float64
	by    map[string]string
	order []string          // workers
	each  func(task string) // called when a task is done
}

func newWorld(t *testing.T, speed map[string]float64) *world {
	w := &world{t: t, p: New(100 * time.Millisecond), now: time.Unix(0, 0), speed: speed, queue: map[string][]string{},
		ends: map[string]time.Time{}, cost: map[string]float64{}, by: map[string]string{}}
	for id := range speed {
		w.order = append(w.order, id)
	}
	slices.Sort(w.order)
	for _, id := range w.order {
		w.p.Join(Worker{ID: id, Slots: 1})
	}
	return w
}

func (w *world) add(n int, cost float64, group func(i int) string) {
	for i := range n {
		id := fmt.Sprintf("t%03d", len(w.cost))
		w.cost[id] = cost
		k := Task{ID: id, Kind: "k", Cost: cost}
		if group != nil {
			k.Group, k.Shared = group(i), cost/2
		}
		w.p.Add(k)
	}
}

// act carries actions out.
func (w *world) act() {
	w.p.Pump(w.now)
	for _, a := range w.p.Take() {
		q := w.queue[a.Worker]
		if a.Verb == Give {
			w.queue[a.Worker] = append(q, a.Task)
			if len(q) == 0 {
				w.begin(a.Worker)
			}
			continue
		}
		first := len(q) > 0 && q[0] == a.Task
		w.queue[a.Worker] = slices.DeleteFunc(q, func(id string) bool { return id == a.Task })
		if first {
			w.begin(a.Worker)
		}
	}
}

func (w *world) begin(worker string) {
	delete(w.ends, worker)
	if q := w.queue[worker]; len(q) > 0 && w.speed[worker] > 0 {
		w.ends[worker] = w.now.Add(time.Duration(w.cost[q[0]] / w.speed[worker] * float64(time.Second)))
	}
}

// run plays until all tasks are done and returns the seconds that took.
func (w *world) run() float64 {
	begun := w.now
	const step = 10 * time.Millisecond
	for w.p.Open() > 0 {
		w.act()
		w.now = w.now.Add(step)
		if w.now.Sub(begun) > time.Hour {
			w.t.Fatalf("%d tasks are open after an hour", w.p.Open())
		}
		w.p.Late(w.now)
		for _, id := range w.order {
			for at, runs := w.ends[id]; runs && !at.After(w.now); at, runs = w.ends[id] {
				task := w.queue[id][0]
				w.queue[id] = w.queue[id][1:]
				w.p.Answered(id, task, w.cost[task]/w.speed[id], w.now)
				w.p.Done(task, w.now)
				w.by[task] = id
				if w.each != nil {
					w.each(task)
				}
				w.begin(id)
			}
		}
	}
	return w.now.Sub(begun).Seconds()
}

func TestSpeedsShareTheWork(t *testing.T) {
	w := newWorld(t, map[string]float64{"fast": 100, "slow": 10})
	w.add(220, 10, nil) // 2,200 of cost at 110 per second: 20 seconds
	if took := w.run(); took > 20*1.1 {
		t.Errorf("took %.1f s; the ideal is 20", took)
	}
}

func TestASlowTailIsTakenOver(t *testing.T) {
	w := newWorld(t, map[string]float64{"a": 100, "b": 100, "crawls": 1})
	w.add(30, 100, nil)
	if took := w.run(); took > 20 { // ideal 15; the slow worker needs 100 s for one
		t.Errorf("took %.1f s", took)
	}
	if w.p.Copies() == 0 {
		t.Error("nothing was given out twice")
	}
}

// The tail of a step: with sixteen workers, one that is ten times as slow and one that hangs since the step before, a
// step of ten tasks a worker takes at most 1.2 times as long as with all of their speeds at work to the end.
func TestTheTailOfAStep(t *testing.T) {
	speed := map[string]float64{"slow": 10, "hangs": 100}
	for i := range 16 {
		speed[fmt.Sprint("w", i)] = 100
	}
	w := newWorld(t, speed)
	w.add(180, 100, nil)
	w.run()
	w.speed["hangs"] = 0
	w.add(160, 100, nil)
	const ideal = 160 * 100 / (16*100 + 10.)
	took := w.run()
	t.Logf("%.2f s, %.2f times the ideal", took, took/ideal)
	if took > 1.2*ideal {
		t.Errorf("took %.2f s; the ideal is %.2f", took, ideal)
	}
}

// Workers that compute two tasks each and have free slots do not take copies of what others compute at their speed.
func TestFreeSlotsTakeNoCopies(t *testing.T) {
	p, now := New(time.Second), time.Unix(0, 0)
	for _, id := range []string{"a", "b"} {
		p.Join(Worker{ID: id, Slots: 16})
		p.Add(Task{ID: "first " + id, Kind: "k", Cost: 100})
	}
	p.Pump(now)
	for _, x := range p.Take() {
		p.Answered(x.Worker, x.Task, 100, now)
		p.Done(x.Task, now)
	}
	for _, id := range []string{"c", "d", "e", "f"} { // two for each
		p.Add(Task{ID: id, Kind: "k", Cost: 100})
	}
	for s := range 90 {
		p.Pump(now.Add(time.Duration(s) * time.Second))
	}
	if p.Copies() > 0 {
		t.Errorf("%d tasks were given out twice", p.Copies())
	}
}

func TestAWorkerThatHangsAfterAWhileHoldsNothingUp(t *testing.T) {
	w := newWorld(t, map[string]float64{"a": 100, "hangs": 100})
	w.add(10, 100, nil)
	w.run()
	w.speed["hangs"] = 0
	w.add(10, 100, nil)
	if took := w.run(); took > 25 {
		t.Errorf("took %.1f s", took)
	}
}

func TestGroupsStayTogether(t *testing.T) {
	w := newWorld(t, map[string]float64{"a": 100, "b": 100, "c": 100})
	w.add(240, 10, func(i int) string { return fmt.Sprint(i % 30) }) // 30 groups of 8, interleaved
	w.run()
	split := 0
	for g := range 30 {
		workers := map[string]bool{}
		for i := g; i < 240; i += 30 {
			workers[w.by[fmt.Sprintf("t%03d", i)]] = true
		}
		if len(workers) > 1 {
			split++
		}
	}
	if split > 6 {
		t.Errorf("%d of 30 groups were split among workers", split)
	}
}

func TestOneGroupIsSplitAtTheEnd(t *testing.T) {
	w := newWorld(t, map[string]float64{"a": 100, "b": 100})
	w.add(40, 100, func(int) string { return "one" })
	if took := w.run(); took > 30 {
		t.Errorf("took %.1f s; a worker alone takes 40, two take 20", took)
	}
}

func TestChecksGoToOtherWorkers(t *testing.T) {
	p := New(time.Second)
	now := time.Unix(0, 0)
	p.Join(Worker{ID: "a", Slots: 4})
	p.Add(Task{ID: "t", Kind: "k", Cost: 1, Checked: true})
	p.Pump(now)
	if got := p.Take(); len(got) != 1 || got[0] != (Action{Give, "a", "t"}) {
		t.Fatalf("%v", got)
	}
	p.Join(Worker{ID: "b", Slots: 4})
	p.Pump(now)
	if got := p.Take(); len(got) != 1 || got[0] != (Action{Give, "b", "t"}) {
		t.Fatalf("%v", got)
	}
	p.Answered("a", "t", 1, now)
	p.Lost("b", now)
	if p.Pump(now); len(p.Take()) != 0 || p.Possible("t") {
		t.Error("the worker that answered is asked again")
	}
	p.Join(Worker{ID: "c", Slots: 1})
	p.Pump(now)
	if got := p.Take(); len(got) != 1 || got[0].Worker != "c" {
		t.Errorf("%v; want the check to go to c", got)
	}
}

func TestAReserveComputesOnlyWhenAlone(t *testing.T) {
	p := New(time.Second)
	now := time.Unix(0, 0)
	p.Join(Worker{ID: "head", Slots: 1, Reserve: true})
	p.Join(Worker{ID: "a", Slots: 1})
	p.Add(Task{ID: "t", Kind: "k", Cost: 1})
	p.Add(Task{ID: "u", Kind: "k", Cost: 1})
	p.Pump(now)
	if got := p.Take(); len(got) != 1 || got[0].Worker != "a" {
		t.Fatalf("%v", got)
	}
	p.Lost("a", now)
	p.Pump(now)
	if got := p.Take(); len(got) != 1 || got[0].Worker != "head" {
		t.Errorf("%v; want the reserve", got)
	}
}

// TestNothingIsLostOrLeft plays random events.
func TestNothingIsLostOrLeft(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := New(time.Duration(r.IntN(1000)) * time.Millisecond)
		now := time.Unix(0, 0)
		open := map[string]bool{}
		for n := range 300 {
			now = now.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
			w := fmt.Sprint("w", r.IntN(4))
			switch r.IntN(6) {
			case 0:
				p.Join(Worker{ID: w, Slots: 1 + r.IntN(3)})
			case 1:
				p.Lost(w, now)
			case 2:
				p.Present(w, 0, r.IntN(2) == 0, false)
			case 3, 4:
				id := fmt.Sprint("t", n)
				p.Add(Task{ID: id, Kind: "k", Group: fmt.Sprint(r.IntN(3)), Cost: 5, Shared: float64(r.IntN(3)),
					Checked: r.IntN(4) == 0})
				open[id] = true
			default:
				if q := p.Queue(w, 0, now); len(q) > 0 {
					id := q[r.IntN(len(q))]
					p.Answered(w, id, 1, now)
					p.Done(id, now)
					delete(open, id)
				}
			}
			p.Late(now)
			p.Pump(now)
			p.Take()
		}
		p.Join(Worker{ID: "last", Slots: 2})
		p.Join(Worker{ID: "last too", Slots: 2})
		for range 1000 {
			for _, w := range []string{"last", "last too", "w0", "w1", "w2", "w3"} {
				p.Present(w, 0, false, false)
				for _, id := range p.Queue(w, 0, now) {
					p.Answered(w, id, 1, now)
					p.Done(id, now)
					delete(open, id)
				}
			}
			now = now.Add(time.Second)
			p.Pump(now)
		}
		if p.Open() != 0 || len(open) != 0 || p.Pending() != 0 {
			t.Fatalf("seed %d: %d tasks are open, %d pending, of %d", seed, p.Open(), p.Pending(), len(open))
		}
	}
}
