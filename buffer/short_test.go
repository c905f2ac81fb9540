package buffer

import (
	"testing"
	"testing/synctest"
)

// A queue says while a Read waits how many there are of how many wanted, and nothing of the kind else.
func TestQueueShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, waits := NewQueue(9, 0), 0
		q.Starved = func() { waits++ }
		short := func(when string, there, wanted int) {
			t.Helper()
			synctest.Wait()
			if a, b := q.Short(); a != there || b != wanted {
				t.Errorf("%s: %d there and %d wanted, want %d and %d", when, a, b, there, wanted)
			}
		}
		put := func(n int) {
			if err := q.Put(t.Context(), list(1, n)); err != nil {
				t.Error(err)
			}
		}
		short("at the start", 0, 0)
		go q.Read(t.Context(), 3, 0)
		short("with a Read", 0, 3)
		put(2)
		short("with too few", 2, 3)
		put(2)
		short("with enough", 1, 0)
		if waits != 1 {
			t.Errorf("Starved was called %d times, want once", waits)
		}
		go q.Read(t.Context(), 3, 0)
		short("with another Read", 1, 3)
		q.Close()
		short("closed", 1, 0)
	})
}
