package fleet

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestDownloadsAreNoComputingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m meter
		a, b := stopwatch{meter: &m}, stopwatch{meter: &m}
		a.start()
		time.Sleep(2 * time.Second) // a alone
		a.pause()
		a.pause()
		b.start()
		time.Sleep(8 * time.Second) // a downloads, b computes
		a.resume()
		time.Sleep(time.Second)
		a.resume()
		time.Sleep(6 * time.Second) // both
		if got := a.stop(); got != 2+3 {
			t.Errorf("a computed for %g s; want 2 alone and half of 6", got)
		}
		if got := b.stop(); got != 9+3 {
			t.Errorf("b computed for %g s; want 9 alone and half of 6", got)
		}
	})
}
