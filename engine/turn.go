package engine

import "sync"

// side is one of the two that compute.
type side int

const (
	forSamples  side = iota // the scheduler's loop
	forTraining             // the trainer's loop
)

// turn decides who computes: the threads work for one side at a time. Whoever ends a turn hands it to the other side if
// that waits. Inside its turn a side also gives way (yield), training between two layers and sampling between two
// steps, whenever the clock says that the other side comes first; so neither starves the other, and a sample of an
// owner that has had little waits for one layer of one micro-batch and not for one before each of its tokens. The zero
// value is ready.
type turn struct {
	clock   clock
	mu      sync.Mutex
	taken   bool
	waiting [2]chan struct{} // each side asks for itself once at a time
}

func other(s side) side { return 1 - s }

// take waits for the turn of a side.
func (t *turn) take(s side) {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return
	}
	<-t.wait(s)
}

// wait puts a side behind the present turn and unlocks t.mu.
func (t *turn) wait(s side) chan struct{} {
	c := make(chan struct{})
	t.waiting[s] = c
	t.mu.Unlock()
	return c
}

// done ends the turn of a side.
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

// yield lets the other side have a turn now if it waits and comes before the owners that s computes for, and reports
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
