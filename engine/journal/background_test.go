package journal

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Goroutines may begin while others are waited for; every one that began before Wait has ended when it returns.
func TestBackground(t *testing.T) {
	var b background
	b.Wait()
	for range 200 {
		var before atomic.Int32
		var callers sync.WaitGroup
		for range 4 {
			b.Go(func() { before.Add(1) })
			callers.Go(func() { b.Go(func() {}) })
		}
		b.Wait()
		if n := before.Load(); n != 4 {
			t.Fatalf("%d of 4 had ended", n)
		}
		callers.Wait()
	}
	b.Wait()
}
