package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// startJob starts a job in a folder, or continues it.
type startJob func(t testing.TB, dir string, o Options) ([]monitor.Line, error)

// jobOf is a run of the configuration that load returns.
func jobOf(load func(t testing.TB, dir string) *config.Config) startJob {
	return func(t testing.TB, dir string, o Options) ([]monitor.Line, error) {
		sum, err := Run(t.Context(), load(t, dir), o)
		if err != nil {
			return nil, err
		}
		return timeless(sum.Lines), nil
	}
}

// jobWith is a run of the example with these overrides.
func jobWith(args ...string) startJob {
	return jobOf(func(t testing.TB, dir string) *config.Config { return load(t, dir, args...) })
}

// stops lists so many of a job's operations on the disk, evenly spaced, to stop it at: under the race detector three,
// since the same goroutines resume wherever it was, and each one with TRINITY_TEST_KILLS=all, which .ci/nightly sets.
func stops(points, count int) (list []int) {
	switch {
	case os.Getenv("TRINITY_TEST_KILLS") == "all":
		points = count
	case testing.Short():
		points = min(points, 3)
	}
	for i := range min(points, count) {
		list = append(list, 1+(2*i+1)*count/(2*points))
	}
	return list
}

// survivesKills stops a job at so many of its operations on the disk, and wants the metrics of the unbroken job, which
// it returns, of the next process. At each of them the process is killed or the power fails, with or without the names
// that were not synced, in turns.
func survivesKills(t *testing.T, o Options, points int, start startJob) []monitor.Line {
	t.Helper()
	count := &disktest.Crash{}
	o.FS = count
	want, err := start(t, disktest.TempDir(t), o)
	if err != nil {
		t.Fatal(err)
	}
	for turn, at := range stops(points, count.Count()) {
		survives(t, o, &disktest.Crash{At: at, PowerLoss: turn%3 > 0, NamesStay: turn%3 == 2}, start, want)
		if t.Failed() {
			break
		}
	}
	return want
}

// survives crashes one process and compares the next one with the unbroken job.
func survives(t *testing.T, o Options, crash *disktest.Crash, start startJob, want []monitor.Line) {
	t.Helper()
	name := fmt.Sprintf("at %d, power fails %v, names stay %v", crash.At, crash.PowerLoss, crash.NamesStay)
	t.Run(name, func(t *testing.T) {
		o, dir := o, disktest.TempDir(t)
		o.FS, o.Out = crash, io.Discard
		if _, err := start(t, dir, o); err != nil && !errors.Is(err, disktest.ErrCrash) {
			t.Fatalf("stopped at %s, the run failed otherwise: %v", crash.Last(), err)
		}
		crash.Now() // what it still does must not reach the next one's disk
		o.FS = crash.Next()
		got, err := start(t, dir, o)
		if err != nil {
			t.Fatalf("stopped at %s, the next process: %v", crash.Last(), err)
		}
		same(t, "stopped at "+crash.Last(), got, want)
	})
}
