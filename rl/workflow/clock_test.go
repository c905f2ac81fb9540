package workflow

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Gradings that overlap count once, and pauses between them do not count.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Clock
		if d, ok := c.Graded(); d != 0 || ok {
			t.Errorf("a clock that was not used says %v, %v", d, ok)
		}
		var wait sync.WaitGroup
		for i := range 3 { // from 0, 1 and 2 s on, for 2 s each
			wait.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				stop := c.Grade()
				time.Sleep(2 * time.Second)
				stop()
			})
		}
		wait.Wait()
		time.Sleep(time.Hour)
		c.Grade()()
		if d, ok := c.Graded(); d != 4*time.Second || !ok {
			t.Errorf("the clock says %v, %v, want 4s", d, ok)
		}
	})
	(*Clock)(nil).Grade()()
	if _, ok := (*Clock)(nil).Graded(); ok {
		t.Error("no clock graded something")
	}
}
