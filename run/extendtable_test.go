package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

// A finished job that is given more steps ends with the bits of one that was planned that long, and so does one that
// is stopped on the way. Where it depends on the clock which weights a step samples with, it ends with each step once.
func TestExtend(t *testing.T) {
	if testing.Short() {
		t.Skip("runs jobs of every kind three times")
	}
	t.Parallel()
	url := serve(t)
	all := os.Getenv("TRINITY_TEST_EXTEND") == "all" // bench/extend sets it
	for _, l := range lastings() {
		if !l.often && !all {
			continue
		}
		t.Run(l.name(), func(t *testing.T) {
			t.Parallel()
			l.extended(t, url, l.must(t, t.TempDir(), l.long, url))
		})
	}
}

// A job of either half that is killed while its first plan runs, and again while it is extended, ends with the same
// bits.
func TestExtendSurvivesKills(t *testing.T) {
	t.Parallel()
	unraced(t, "TestTwoProcessesSurviveKills")
	url := serve(t)
	for _, l := range lastings() {
		if l.often && l.style == "fixed" && l.interval == 1 {
			t.Run(l.name(), func(t *testing.T) { l.killed(t, url, l.must(t, t.TempDir(), l.long, url)) })
		}
	}
}

// extended interrupts the short plan after its first step, and then the long one after the next. What is complete has
// nothing left to do.
func (l lasting) extended(t *testing.T, url string, want []monitor.Line) {
	dir := t.TempDir()
	for i, n := range []int{l.short, l.long} {
		o := options()
		stop := make(chan struct{})
		o.Stop, o.Out = stop, &onceStopped{Out: &stopAt{stop: stop, text: fmt.Sprintf("step %d/", i*l.short+1)}}
		if _, err := l.start(t, dir, n, o, "", url); err != nil && !errors.Is(err, ErrInterrupted) {
			t.Fatalf("planned for %d, interrupted: %v", n, err)
		}
		l.must(t, dir, n, url)
		got := l.must(t, dir, n, url)
		if n == l.long {
			l.compare(t, "extended", got, want)
		}
	}
}

// onceStopped lets two processes write to one stopAt.
type onceStopped struct {
	mu  sync.Mutex
	Out io.Writer
}

func (o *onceStopped) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Out.Write(b)
}

// killed ends both plans at the same operation on the disk, of which the shorter one has some hundreds.
func (l lasting) killed(t *testing.T, url string, want []monitor.Line) {
	for _, half := range l.halves() {
		for turn, at := range stops(2, 300) {
			what := fmt.Sprintf("killed at operation %d of %s", at+60, half)
			dir := t.TempDir()
			for _, n := range []int{l.short, l.long} {
				o := options()
				o.FS = &disktest.Crash{FS: disk.OS(), At: at + 60, PowerLoss: turn%2 == 1}
				if _, err := l.start(t, dir, n, o, half, url); err != nil && !errors.Is(err, disktest.ErrCrash) {
					t.Fatalf("%s: %v", what, err)
				}
				if got := l.must(t, dir, n, url); n == l.long {
					l.compare(t, what, got, want)
				}
			}
		}
	}
}

func (l lasting) must(t *testing.T, dir string, n int, url string) []monitor.Line {
	t.Helper()
	lines, err := l.start(t, dir, n, options(), "", url)
	if err != nil {
		t.Fatalf("planned for %d: %v", n, err)
	}
	return lines
}

// compare wants the same bits, or in a loose kind the same steps.
func (l lasting) compare(t *testing.T, what string, got, want []monitor.Line) {
	t.Helper()
	if !l.loose {
		same(t, what, got, want)
		return
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d lines, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i].Step != want[i].Step {
			t.Errorf("%s: line %d is of step %d, want %d", what, i, got[i].Step, want[i].Step)
		}
	}
}

// start runs the job for n steps until it is done, or what o brings ends it: killed is the half that o.FS is for if
// there are two.
func (l lasting) start(t testing.TB, dir string, n int, o Options, killed, url string) ([]monitor.Line, error) {
	t.Helper()
	args := l.args(n)
	if l.wire {
		args = and(args, "model.tinker.base_url="+url)
		o.LookupEnv = withKey
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if l.apart {
		return l.startApart(t, dir, o, killed, args)
	}
	sum, err := Run(context.Background(), l.load(t, dir, args...), o)
	if err != nil {
		return nil, err
	}
	return l.lines(t, sum.Dir)
}

// startApart runs the two halves; when one dies, the other is stopped.
func (l lasting) startApart(t testing.TB, dir string, o Options, killed string, args []string) ([]monitor.Line, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type end struct {
		sum *console.Summary
		err error
	}
	ends := map[string]chan end{"trainer": make(chan end, 1), "explorer": make(chan end, 1)}
	halves := map[string][]string{"trainer": asTrainer, "explorer": asExplorer}
	started := &stopAt{stop: make(chan struct{}), text: "plan "}
	for half, more := range halves {
		cfg, o := l.load(t, dir, and(args, more...)...), o
		if killed != half {
			o.FS = nil
		}
		go func() {
			switch {
			case l.ahead == half:
				o.Out = started
			case l.ahead != "":
				select {
				case <-started.stop:
				case <-ctx.Done():
				}
			}
			sum, err := Run(ctx, cfg, o)
			if err != nil && !errors.Is(err, ErrInterrupted) {
				cancel()
			}
			ends[half] <- end{sum, err}
		}()
	}
	trainer, explorer := <-ends["trainer"], <-ends["explorer"]
	for _, err := range []error{trainer.err, explorer.err} {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	if err := errors.Join(trainer.err, explorer.err); err != nil {
		return nil, err
	}
	lines, err := l.lines(t, trainer.sum.Dir)
	return only(lines, "actor/", "critic/", "sample/", "response_length/"), err
}
