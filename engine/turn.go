package engine

import "sync"

// turn decides who computes: the threads work for one at a time. Training runs take turns in the order they ask, the
// sampling loop goes before them, and whoever has just had a turn goes behind the other kind; so sampling waits for one micro-batch of
// training at most, and training for one step of sampling. The zero value is ready.
type turn struct {
	mu      sync.Mutex
	taken   bool
	sampled bool            // the present or last turn was the sampling loop's
	sampler chan struct{}   // the sampling loop, if it waits
	queue   []chan struct{} // training runs that wait
}

// sample waits for the sampling loop's turn. There is one such loop.
func (t *turn) sample() {
	t.mu.Lock()
	if !t.taken {
		t.taken, t.sampled = true, true
		t.mu.Unlock()
		return
	}
	c := make(chan struct{})
	t.sampler = c
	t.mu.Unlock()
	<-c
}

// train waits for a training run's turn.
func (t *turn) train() {
	t.mu.Lock()
	if !t.taken {
		t.taken, t.sampled = true, false
		t.mu.Unlock()
		return
	}
	c := make(chan struct{})
	t.queue = append(t.queue, c)
	t.mu.Unlock()
	<-c
}

// done ends a turn.
func (t *turn) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.sampler != nil && (!t.sampled || len(t.queue) == 0):
		t.sampled = true
		close(t.sampler)
		t.sampler = nil
	case len(t.queue) > 0:
		t.sampled = false
		close(t.queue[0])
		t.queue = t.queue[1:]
	default:
		t.taken = false
	}
}
