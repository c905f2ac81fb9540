package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestPoolRunsEveryPartOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, n := range []int{0, 1, 2, 3, 8} {
		p := NewPool(n)
		if p.N() != max(1, n) {
			t.Errorf("NewPool(%d).N() = %d", n, p.N())
		}
		for parts := range 40 {
			count := make([]atomic.Int32, parts)
			p.Run(parts, func(i int, sc *Scratch) {
				grow(&sc.a, 100)[i] = 1 // the race detector sees a scratch used twice
				count[i].Add(1)
			})
			for i := range count {
				if c := count[i].Load(); c != 1 {
					t.Fatalf("%d workers: part %d of %d ran %d times", n, i, parts, c)
				}
			}
			for _, w := range p.workers {
				for parts%13 == 0 && !w.parked.Load() { // until it falls asleep
					runtime.Gosched()
				}
			}
		}
		p.Close()
		p.Close()
	}
}

func TestPoolIsSafeForManyCallers(t *testing.T) {
	defer goleak.VerifyNone(t)
	p := NewPool(3)
	defer p.Close()
	var callers sync.WaitGroup
	var total atomic.Int64
	for range 8 {
		callers.Go(func() {
			for range 200 {
				p.Run(5, func(int, *Scratch) { total.Add(1) })
			}
		})
	}
	callers.Wait()
	if total.Load() != 8*200*5 {
		t.Errorf("%d parts ran, want %d", total.Load(), 8*200*5)
	}
}

func TestPoolRunsInlineAfterClose(t *testing.T) {
	p := NewPool(4)
	p.Close()
	sum := 0
	p.Run(10, func(i int, _ *Scratch) { sum += i })
	if sum != 45 {
		t.Errorf("sum of parts = %d, want 45", sum)
	}
}

func BenchmarkPoolRun(b *testing.B) {
	p := NewPool(2)
	defer p.Close()
	for b.Loop() {
		p.Run(2, func(int, *Scratch) {})
	}
}
