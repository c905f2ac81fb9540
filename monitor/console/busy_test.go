package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// A busy run writes at least every half minute, and says with what.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		b := NewBusy(&out)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.Run(ctx) }()
		pass := func(d time.Duration) { <-time.After(d); synctest.Wait() }

		pass(time.Minute) // there is nothing to say
		b.With("sampling step 1: 0 of 4 tasks are done")
		fmt.Fprintln(b, "begun")
		pass(29 * time.Second)
		b.With("sampling step 1: 1 of 4 tasks are done")
		pass(32 * time.Second)
		fmt.Fprintln(b, "step 1")
		pass(20 * time.Second)
		b.With("")
		pass(time.Hour)
		cancel()
		<-done
		want := "begun\nbusy     sampling step 1: 1 of 4 tasks are done (30s since the last line)\n" +
			"busy     sampling step 1: 1 of 4 tasks are done (1m0s since the last line)\nstep 1\n"
		if out.String() != want {
			t.Errorf("wrote:\n%swant:\n%s", out.String(), want)
		}
	})
}

// What a progress is told, its Busy says, unless a person sees it on the live line.
func TestProgressIsBusy(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var out strings.Builder
		b := NewBusy(&out)
		p, err := Open(Options{Out: b, Now: time.Now, Dir: t.TempDir(), Terminal: terminal, Busy: b})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		p.Start(2)
		for _, tt := range []struct {
			do   func()
			want string
		}{
			{func() { p.Phase("evaluating") }, "evaluating"},
			{func() { p.Step(0, monitor.Metrics{}) }, "step 1"},
			{func() { p.Explored(1, 8) }, "step 1"},
			{func() { p.Step(1, monitor.Metrics{}) }, "step 2"},
			{func() { p.Step(2, monitor.Metrics{}) }, "saving"},
			{p.Done, ""},
		} {
			if tt.do(); b.what != tt.want {
				t.Errorf("terminal %v: busy with %q, want %q", terminal, b.what, tt.want)
			}
		}
	}
}
