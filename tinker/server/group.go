package server

import "sync"

// goroutines counts the server's goroutines. None starts after end is called: handlers may still run when the server
// closes.
type goroutines struct {
	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// begin runs f on a goroutine; false means that the server has ended, and the next process does the work.
func (g *goroutines) begin(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.wg.Go(f)
	}
	return !g.ended
}

// end waits until no goroutine is left.
func (g *goroutines) end() {
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.wg.Wait()
}
