package schedule

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// BenchmarkThousandWorkers plans ten tasks for each of 1,000 workers, from their arrival to the last answer.
func BenchmarkThousandWorkers(b *testing.B) {
	for name, group := range map[string]int{"tasks": 0, "groups of 8": 8} {
		b.Run(name, func(b *testing.B) {
			const workers, each = 1000, 10
			for b.Loop() {
				w := crowd(workers)
				addTo(w.p, workers*each, group)
				took := w.play()
				b.ReportMetric(each*w.mean/took, "efficiency")
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*workers*each), "µs/task")
		})
	}
}

// crowd returns a plan with workers that need about 2 s for a task, in virtual time.
func crowd(n int) *virtual {
	v := &virtual{p: New(300 * time.Millisecond), now: time.Unix(0, 0), took: map[string]float64{}, mean: 2,
		r: rand.New(rand.NewPCG(1, 2)), ends: map[string]time.Time{}, queue: map[string][]string{}}
	for i := range n {
		id := fmt.Sprint("w", i)
		v.p.Join(Worker{ID: id, Slots: 1, Trip: 100 * time.Millisecond})
		v.took[id] = v.mean * (0.9 + 0.2*v.r.Float64())
	}
	return v
}

func addTo(p *Plan, n, group int) {
	for i := range n {
		k := Task{ID: fmt.Sprint("t", i), Kind: "k", Cost: 100}
		if group > 0 {
			k.Group, k.Shared = fmt.Sprint("g", i/group), 10
		}
		p.Add(k)
	}
}

// virtual plays workers event by event, each with one task at a time.
type virtual struct {
	p     *Plan
	now   time.Time
	r     *rand.Rand
	mean  float64
	took  map[string]float64 // seconds for a task, by worker
	queue map[string][]string
	ends  map[string]time.Time
	order events
}

type event struct {
	at     time.Time
	worker string
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// play returns the seconds until all tasks are done.
func (v *virtual) play() float64 {
	begun := v.now
	v.act()
	for v.p.Open() > 0 {
		e := heap.Pop(&v.order).(event)
		if v.ends[e.worker] != e.at {
			continue // it was cancelled
		}
		v.now = e.at
		q := v.queue[e.worker]
		v.queue[e.worker] = q[1:]
		v.p.Answered(e.worker, q[0], v.took[e.worker], v.now)
		v.p.Done(q[0], v.now)
		v.begin(e.worker)
		v.act()
	}
	return v.now.Sub(begun).Seconds()
}

func (v *virtual) act() {
	v.p.Pump(v.now)
	for _, a := range v.p.Take() {
		q := v.queue[a.Worker]
		if a.Verb == Give {
			v.queue[a.Worker] = append(q, a.Task)
			if len(q) == 0 {
				v.begin(a.Worker)
			}
			continue
		}
		first := len(q) > 0 && q[0] == a.Task
		v.queue[a.Worker] = slices.DeleteFunc(q, func(id string) bool { return id == a.Task })
		if first {
			v.begin(a.Worker)
		}
	}
}

func (v *virtual) begin(worker string) {
	delete(v.ends, worker)
	if len(v.queue[worker]) > 0 {
		at := v.now.Add(time.Duration(v.took[worker] * float64(time.Second)))
		v.ends[worker] = at
		heap.Push(&v.order, event{at, worker})
	}
}
