package run

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// survivesFaults has the disk fail at so many operations, with each errno: at one operation, or from there on in this
// process and in part of the next. The same command on a disk that works again must end with the metrics of a job that
// never met a fault.
func survivesFaults(t *testing.T, o Options, points int, start startJob) {
	t.Helper()
	count := &disktest.Fault{FS: &disktest.Crash{}}
	o.FS, o.Out = count, io.Discard
	want, err := start(t, disktest.TempDir(t), o)
	if err != nil {
		t.Fatal(err)
	}
	for turn, at := range stops(points, count.Count()) {
		f := faultOf(turn, at)
		t.Run(fmt.Sprintf("%v at %d, for %d", f.Err, at, f.For), func(t *testing.T) {
			t.Parallel()
			dir := disktest.TempDir(t)
			meets(t, o, f, f, dir, start, want)
			if f.For < 0 {
				next := &disktest.Fault{FS: &disktest.Crash{}, At: 1 + turn%40, Err: f.Err, For: -1}
				meets(t, o, next, next, dir, start, want)
			}
			meets(t, o, &disktest.Crash{}, nil, dir, start, want)
		})
	}
}

// faultOf is the fault at an operation: each errno in turn, at the operation alone or from there on.
func faultOf(turn, at int) *disktest.Fault {
	errnos := disktest.Errnos()
	f := &disktest.Fault{FS: &disktest.Crash{}, At: at, Err: errnos[turn%len(errnos)], For: 1}
	if turn/len(errnos)%2 == 1 {
		f.For = -1
	}
	return f
}

// meets runs a process on a disk. If that has a fault, the process may fail, and says why.
func meets(t *testing.T, o Options, fs disk.FS, f *disktest.Fault, dir string, start startJob, want []monitor.Line) {
	t.Helper()
	o.FS = fs
	got, err := start(t, dir, o)
	switch {
	case err == nil:
		same(t, fmt.Sprintf("on %T", fs), got, want)
	case f == nil:
		t.Fatalf("when the disk works again: %v", err)
	case !strings.Contains(err.Error(), f.Err.Error()):
		t.Errorf("after %s the run failed otherwise: %v", f.First(), err)
	}
}

// Whatever fails on the disk, and wherever, the job continues when the disk works again, to the bits of one that never
// met the fault.
func TestSurvivesFaults(t *testing.T) {
	t.Parallel()
	ppo := append(tinyRun, "algorithm.algorithm_type=ppo", "trainer.save_interval=1", "explorer.eval_on_startup=false",
		"model.tinker.rank=4", "algorithm.advantage_fn_args={critic_bins: 5}")
	jobs := map[string]startJob{
		"rft":   jobWith(and(tiny, "explorer.eval_interval=2")...),
		"ppo":   jobWith(ppo...),
		"table": jobWith(and(tiny, betweenTable)...),
		"gem":   gemJob("max_steps=2", "save_every=1", "eval_every=1", "eval_episodes=2"),
		"sft and rft": func(t testing.TB, dir string, o Options) ([]monitor.Line, error) {
			if _, err := Run(t.Context(), load(t, dir, warmed...), o); err != nil {
				return nil, err
			}
			all := stageLines(t, dir)
			return append(all["warmup"], all["rft"]...), nil
		},
	}
	for name, start := range jobs {
		t.Run(name, func(t *testing.T) { survivesFaults(t, options(), 10, start) })
	}
	if !testing.Short() {
		t.Run("engine", func(t *testing.T) { survivesFaults(t, onEngine(), 2, jobWith(tinyRun...)) })
	}
}

// The same of a server's disk: what failed there stays failed, and the run begins at its last saved state.
func TestSurvivesFaultsOfAServer(t *testing.T) {
	t.Parallel()
	args := and(tiny, "explorer.eval_interval=2")
	want := runs(t, load(t, t.TempDir(), args...), options())
	count := &disktest.Fault{FS: &disktest.Crash{}}
	o := options()
	o.LookupEnv, o.Out = withKey, io.Discard
	url := serveOn(t, count)
	started := count.Count()
	runs(t, load(t, t.TempDir(), and(args, "model.tinker.base_url="+url)...), o)
	for turn, at := range stops(12, count.Count()) {
		if at <= started {
			continue
		}
		f := faultOf(turn, at)
		f.For = 1 // meanwhile a run waits
		t.Run(fmt.Sprintf("%v at %d", f.Err, at), func(t *testing.T) {
			t.Parallel()
			dir, o := disktest.TempDir(t), o
			start := jobWith(and(args, "model.tinker.base_url="+serveOn(t, f))...)
			meets(t, o, &disktest.Crash{}, f, dir, start, want)
			meets(t, o, &disktest.Crash{}, nil, dir, start, want)
		})
	}
}
