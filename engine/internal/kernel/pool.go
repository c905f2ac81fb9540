package kernel

import (
	"sync"
	"sync/atomic"
	"time"
)

// spin is the time for which a worker without work, or a caller waiting for the last part, polls before it sleeps:
// about the cost of a wake-up, which in a virtual machine with an idle processor is far more than a context switch. A
// step of decoding has some hundred regions with short pauses between them; for one sequence of a 0.6B model it took a
// third longer with a spin of 20 microseconds.
const spin = 200 * time.Microsecond

// Pool runs parallel regions on n workers, of which the caller is one. Workers
// live from NewPool to Close and sleep while there is nothing to do. Regions of
// one pool run one after another; a region must not start another on its pool.
type Pool struct {
	mu      sync.Mutex
	own     *Scratch
	workers []*worker
	exited  sync.WaitGroup
}

// NewPool starts a pool of n workers; below 2 everything runs on the caller.
func NewPool(n int) *Pool {
	p := &Pool{own: NewScratch()}
	for range n - 1 {
		w := &worker{wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.exited.Go(w.loop)
	}
	return p
}

// N returns the number of workers, the caller included.
func (p *Pool) N() int { return len(p.workers) + 1 }

// Close ends the workers and waits for them. Regions started later run on the
// caller alone.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.workers {
		w.offer(&region{quit: true})
	}
	p.workers = nil
	p.exited.Wait()
}

// Run calls f for every part in [0,parts) and returns when all calls have. Idle
// workers take the next part, so f must not depend on who runs it; sc belongs to
// the call until it returns.
func (p *Pool) Run(parts int, f func(part int, sc *Scratch)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	helpers := p.workers[:max(0, min(len(p.workers), parts-1))]
	if len(helpers) == 0 {
		for i := range parts {
			f(i, p.own)
		}
		return
	}
	r := &region{f: f, parts: int64(parts), done: make(chan struct{}, 1)}
	r.inside.Store(int64(len(helpers)) + 1)
	for _, w := range helpers {
		w.offer(r)
	}
	r.work(p.own)
	for _, w := range helpers {
		if w.job.CompareAndSwap(r, nil) { // the worker did not take it
			r.leave()
		}
	}
	r.leave()
	r.wait()
}

// region is one call of Run.
type region struct {
	f      func(part int, sc *Scratch)
	parts  int64
	next   atomic.Int64  // the next part to take
	inside atomic.Int64  // workers that may still touch the region
	done   chan struct{} // receives when inside reaches 0
	quit   bool          // the worker must end
}

// work takes parts until none is left.
func (r *region) work(sc *Scratch) {
	for i := r.next.Add(1) - 1; i < r.parts; i = r.next.Add(1) - 1 {
		r.f(int(i), sc)
	}
}

func (r *region) leave() {
	if r.inside.Add(-1) == 0 {
		r.done <- struct{}{}
	}
}

// wait returns when all workers have left; it polls for a short time before it sleeps.
func (r *region) wait() {
	if !spinUntil(func() bool { return r.inside.Load() == 0 }) {
		<-r.done
	}
}

// spinUntil polls ok for the spin time and reports whether it came true.
func spinUntil(ok func() bool) bool {
	for start := time.Now(); ; {
		for range 64 {
			if ok() {
				return true
			}
		}
		if time.Since(start) > spin {
			return false
		}
	}
}

// worker is one goroutine of a pool.
type worker struct {
	job    atomic.Pointer[region] // offered, not yet taken
	parked atomic.Bool            // asleep, or about to be, until wake receives
	wake   chan struct{}
}

// offer hands r to the worker and wakes it if it sleeps.
func (w *worker) offer(r *region) {
	w.job.Store(r)
	if w.parked.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

func (w *worker) loop() {
	sc := NewScratch()
	for {
		r := w.take()
		if r == nil {
			continue // woken for a region that ended without it
		}
		if r.quit {
			return
		}
		r.work(sc)
		r.leave()
	}
}

// take returns the next region. It sleeps if none is offered for the spin time;
// after a sleep it may return nil.
func (w *worker) take() *region {
	if spinUntil(func() bool { return w.job.Load() != nil }) {
		return w.job.Swap(nil)
	}
	w.parked.Store(true)
	if w.job.Load() != nil && w.parked.CompareAndSwap(true, false) {
		return w.job.Swap(nil)
	}
	<-w.wake
	return w.job.Swap(nil)
}
