package main

import (
	"runtime"
	"testing"
)

// While all threads compute, goroutines that read requests still get a processor.
func TestSpareProcessors(t *testing.T) {
	n := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(n)
	for threads, want := range map[int]int{0: n, 1: 1, n + 5: n + 5} {
		runtime.GOMAXPROCS(n)
		if got := spareProcessors(threads); got != want || runtime.GOMAXPROCS(0) < max(n, want+spare) {
			t.Errorf("--threads %d: %d compute on %d processors of Go's", threads, got, runtime.GOMAXPROCS(0))
		}
	}
}
