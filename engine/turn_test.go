package engine

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

// The two sides alternate, and training yields in the middle of its turn.
func TestTurns(t *testing.T) {
	var turns turn
	waiting := func(s side) {
		for !turns.waits(s) {
			runtime.Gosched()
		}
	}
	var order []string // guarded by the turn
	var wg sync.WaitGroup
	turns.take(forTraining)
	wg.Go(func() {
		for range 3 {
			turns.take(forSamples)
			order = append(order, "sample")
			waiting(forTraining)
			turns.done(forSamples)
		}
	})
	waiting(forSamples)
	order = append(order, "layer")
	if !turns.yield(forTraining) {
		t.Error("training did not yield")
	}
	order = append(order, "layer")
	waiting(forSamples)
	turns.done(forTraining)
	turns.take(forTraining)
	waiting(forSamples)
	order = append(order, "layer")
	turns.yield(forTraining)
	wg.Wait()
	order = append(order, "layer")
	if turns.yield(forTraining) {
		t.Error("training yielded to a side that did not wait")
	}
	turns.done(forTraining)
	if want := []string{"layer", "sample", "layer", "sample", "layer", "sample", "layer"}; !slices.Equal(order, want) {
		t.Errorf("turns were taken by %q, want %q", order, want)
	}
	turns.take(forSamples) // and it is free again
	turns.done(forSamples)
}
