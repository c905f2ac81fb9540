package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/fleet"
)

// TestAddedLatency measures what the fleet adds to a task: from Do to its answer less the worker's computing time, one
// task after the other, of 8 KiB with answers of 32 bytes.
func TestAddedLatency(t *testing.T) {
	const trips = 100
	h, _ := newHead(t)
	join(t, h, "a", square)
	eventually(t, "a worker", func() bool { return here(h) == 1 })
	var added []time.Duration
	for i := range trips {
		payload := make([]byte, 8<<10)
		copy(payload, task(i).Payload)
		begun := time.Now()
		r, err := h.Do(t.Context(), fleet.NewTask("square", payload, 1))
		if err != nil {
			t.Fatal(err)
		}
		added = append(added, time.Since(begun)-time.Duration(r.Seconds*float64(time.Second)))
	}
	slices.Sort(added)
	t.Logf("added latency of %d tasks: p50 %v, p90 %v", trips, added[trips/2], added[trips*9/10])
}
