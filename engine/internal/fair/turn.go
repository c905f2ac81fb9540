package fair

import "sync"

// side is one of the two that compute.
type side int

const (
	ForSamples  side = iota // the scheduler
	ForTraining             // the compute loop
)

// Turn decides which side computes: the threads work for one side at a time. A side that ends its turn hands it to
// the other side if that waits. During its turn a side also yields, training between two layers and sampling between
// two steps, whenever the clock says that the other side comes first. So neither side starves the other, and a
// sample of a tenant that has used little time waits for one layer of one micro-batch, not for one before each of
// its tokens. The zero value is ready to use.
type Turn struct {
	Clock   clock
	mu      sync.Mutex
	taken   bool
	waiting [2]chan struct{} // each side waits once at a time
}

func other(s side) side { return 1 - s }

// Take waits for a side's turn.
func (t *Turn) Take(s side) {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return
	}
	<-t.wait(s)
}

// Waits reports whether a side waits for its turn.
func (t *Turn) Waits(s side) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[s] != nil
}

// wait registers a side for the next turn and unlocks t.mu.
func (t *Turn) wait(s side) chan struct{} {
	c := make(chan struct{})
	t.waiting[s] = c
	t.mu.Unlock()
	return c
}

// Done ends a side's turn.
func (t *Turn) Done(s side) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hand(other(s)) && !t.hand(s) {
		t.taken = false
	}
}

// hand gives the turn to a side that waits; t.mu is held.
func (t *Turn) hand(s side) bool {
	c := t.waiting[s]
	if c == nil {
		return false
	}
	t.waiting[s] = nil
	close(c)
	return true
}

// Yield lets the other side compute now if it waits and comes before the tenants that s computes for. It reports
// whether it did.
func (t *Turn) Yield(s side, owners ...string) bool {
	t.mu.Lock()
	if t.waiting[other(s)] == nil || !t.Clock.yields(s, owners...) {
		t.mu.Unlock()
		return false
	}
	t.hand(other(s))
	<-t.wait(s)
	return true
}
