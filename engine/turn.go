package engine

import "sync"

// side is one of the two that compute.
type side int

const (
	forSamples  side = iota // the scheduler
	forTraining             // the compute loop
)

// turn decides which side computes: the threads work for one side at a time. A side that ends its turn hands it to
// the other side if that waits. During its turn a side also yields, training between two layers and sampling between
// two steps, whenever the clock says that the other side comes first. So neither side starves the other, and a
// sample of a tenant that has used little time waits for one layer of one micro-batch, not for one before each of
// its tokens. The zero value is ready to use.
type turn struct {
	clock   clock
	mu      sync.Mutex
	taken   bool
	waiting [2]chan struct{} // each side waits once at a time
}

func other(s side) side { return 1 - s }

// take waits for a side's turn.
func (t *turn) take(s side) {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return
	}
	<-t.wait(s)
}

// waits reports whether a side waits for its turn.
func (t *turn) waits(s side) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[s] != nil
}

// wait registers a side for the next turn and unlocks t.mu.
func (t *turn) wait(s side) chan struct{} {
	c := make(chan struct{})
	t.waiting[s] = c
	t.mu.Unlock()
	return c
}

// done ends a side's turn.
func (t *turn) done(s side) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hand(other(s)) && !t.hand(s) {
		t.taken = false
	}
}

// hand gives the turn to a side that waits; t.mu is held.
func (t *turn) hand(s side) bool {
	c := t.waiting[s]
	if c == nil {
		return false
	}
	t.waiting[s] = nil
	close(c)
	return true
}

// yield lets the other side compute now if it waits and comes before the tenants that s computes for. It reports
// whether it did.
func (t *turn) yield(s side, owners ...string) bool {
	t.mu.Lock()
	if t.waiting[other(s)] == nil || !t.clock.yields(s, owners...) {
		t.mu.Unlock()
		return false
	}
	t.hand(other(s))
	<-t.wait(s)
	return true
}
