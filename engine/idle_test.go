package engine

import (
	"regexp"
	"runtime"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// goroutines are the states of all goroutines by number, such as "chan receive".
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	states := map[string]string{}
	for _, m := range goroutine.FindAllSubmatch(buf[:runtime.Stack(buf, true)], -1) {
		states[string(m[1])] = string(m[2])
	}
	return states
}

var goroutine = regexp.MustCompile(`(?m)^goroutine (\d+) .*\[([^],]+)`)

// An engine without requests has no goroutine but its workers, which sleep until they are called: none polls and none
// waits for a timer.
func TestIdleCostsNothing(t *testing.T) {
	before := goroutines()
	e := open(t, Options{Threads: 2})
	c := create(t, e, 0, lora(2))
	train(t, c, 2, mixed...)
	draw(t, samplerOf(t, e, c, "w"), sampleRequest(2, 20, 1, mixed[0]))
	var more []string
	eventually(t, "one worker sleeps beside the caller, and nothing else is left", func() bool {
		more = nil
		for id, state := range goroutines() {
			if before[id] == "" {
				more = append(more, state)
			}
		}
		return len(more) == 1 && more[0] == "chan receive"
	})
	if s := e.Stats(); s.Waiting != [2]tinker.Queue{} {
		t.Errorf("%+v waits", s.Waiting)
	}
}
