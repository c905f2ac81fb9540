package fair

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

// The two sides alternate, and training yields in the middle of its turn.
func TestTurns(t *testing.T) {
	var turns Turn
	waiting := func(s side) {
		for !turns.Waits(s) {
			runtime.Gosched()
		}
	}
	var order []string // guarded by the turn
	var wg sync.WaitGroup
	turns.Take(ForTraining)
	wg.Go(func() {
		for range 3 {
			turns.Take(ForSamples)
			order = append(order, "sample")
			waiting(ForTraining)
			turns.Done(ForSamples)
		}
	})
	waiting(ForSamples)
	order = append(order, "layer")
	if !turns.Yield(ForTraining) {
		t.Error("training did not yield")
	}
	order = append(order, "layer")
	waiting(ForSamples)
	turns.Done(ForTraining)
	turns.Take(ForTraining)
	waiting(ForSamples)
	order = append(order, "layer")
	turns.Yield(ForTraining)
	wg.Wait()
	order = append(order, "layer")
	if turns.Yield(ForTraining) {
		t.Error("training yielded to a side that did not wait")
	}
	turns.Done(ForTraining)
	if want := []string{"layer", "sample", "layer", "sample", "layer", "sample", "layer"}; !slices.Equal(order, want) {
		t.Errorf("turns were taken by %q, want %q", order, want)
	}
	turns.Take(ForSamples) // and it is free again
	turns.Done(ForSamples)
}
