package journal

import "sync"

// background counts goroutines. Unlike sync.WaitGroup's, its Go may be called beside Wait: a request that comes while
// the journal is closed begins a goroutine as any other does.
type background struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // of those that wait; nil: nobody does
}

// Go runs f in a goroutine.
func (b *background) Go(f func()) {
	b.mu.Lock()
	b.count++
	b.mu.Unlock()
	go func() {
		defer b.done()
		f()
	}()
}

func (b *background) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count--
	if b.count == 0 && b.none != nil {
		close(b.none)
		b.none = nil
	}
}

// Wait returns at a moment when none of them runs.
func (b *background) Wait() {
	b.mu.Lock()
	if b.count == 0 {
		b.mu.Unlock()
		return
	}
	if b.none == nil {
		b.none = make(chan struct{})
	}
	none := b.none
	b.mu.Unlock()
	<-none
}
