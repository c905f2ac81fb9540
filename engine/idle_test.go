//go:build unix

package engine

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// processor is the time that the process has computed.
func processor(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// An engine without requests has no goroutine but its sleeping workers, sets no timer and computes nothing.
func TestIdleCostsNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	e := open(t, Options{Threads: 2})
	c := create(t, e, 0, lora(2))
	train(t, c, 2, mixed...)
	draw(t, sampler(t, e, c, "w"), sampleRequest(2, 20, 1, mixed[0]))
	for range 2000 {
		if runtime.NumGoroutine() <= before+1 { // the one worker beside the caller
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine() - before; n > 1 {
		t.Errorf("%d goroutines are there when nothing is to do, want 1", n)
	}
	if s := e.Stats(); s.Waiting != [2]tinker.Queue{} {
		t.Errorf("%+v waits", s.Waiting)
	}
	runtime.GC()
	least := time.Hour
	for range 5 { // the runtime's own work comes and goes
		start := processor(t)
		time.Sleep(100 * time.Millisecond)
		least = min(least, processor(t)-start)
	}
	if least > 2*time.Millisecond {
		t.Errorf("%v of 100ms are computed when nothing is to do", least)
	}
}
