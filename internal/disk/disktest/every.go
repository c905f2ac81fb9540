package disktest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Job is the work of one process. It continues where the process before it was stopped.
type Job func(fs disk.FS) error

// EveryCrash runs a job to count its operations on the disk, then stops it at each of them in three ways: the process
// is killed; the power fails; the power fails and names stay (Crash.NamesStay). The job then runs on the disk of the
// next process and must return nil. After a kill the power fails when that job is done, and the job runs a third time.
// At the end check compares what is there with what the job promised.
//
// begin makes the job and the check of one case. They share the promises made. dir is the case's own folder, empty and
// durable; what begin writes there with package os is durable too. Each case is a subtest, so begin may call
// t.Parallel. A job that was stopped returns nil or ErrCrash. A failure names the operation and its paths.
//
// With -short a few operations are stopped at, each in one way. One case is run again with the count before it:
// -run 'TestName/whole|killed_at_7$'.
func EveryCrash(t *testing.T, begin func(t *testing.T, dir string) (job Job, check func())) {
	t.Helper()
	EveryNthCrash(t, 1, begin)
}

// EveryNthCrash is EveryCrash at one in every stride operations, for a job that takes long. With
// TRINITY_TEST_KILLS=all, which .ci/nightly sets, it is EveryCrash.
func EveryNthCrash(t *testing.T, stride int, begin func(t *testing.T, dir string) (job Job, check func())) {
	t.Helper()
	n := 0
	t.Run("whole", func(t *testing.T) { // ends when its parallel subtests have
		t.Run("power fails at the end", func(t *testing.T) {
			n = crashed(t, &Crash{PowerLoss: true}, begin)
		})
	})
	if t.Failed() {
		return
	}
	ways := []Crash{{}, {PowerLoss: true}, {PowerLoss: true, NamesStay: true}}
	switch {
	case os.Getenv("TRINITY_TEST_KILLS") == "all":
		stride = 1
	case testing.Short():
		stride = max(stride, 1+n/6)
	}
	for at := 1; at <= n; at += stride {
		for i := range ways {
			if testing.Short() && i != at/stride%len(ways) {
				continue
			}
			c := &Crash{At: at, PowerLoss: ways[i].PowerLoss, NamesStay: ways[i].NamesStay}
			t.Run(fmt.Sprintf("%s at %d", c.way(), at), func(t *testing.T) { crashed(t, c, begin) })
		}
	}
}

func (c *Crash) way() string {
	switch {
	case !c.PowerLoss:
		return "killed"
	case c.NamesStay:
		return "power fails, names stay,"
	}
	return "power fails"
}

// crashed plays one case and returns the number of operations of its first process.
func crashed(t *testing.T, c *Crash, begin func(*testing.T, string) (Job, func())) int {
	dir := TempDir(t)
	job, check := begin(t, dir)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s at %s; the folder is %s", c.way(), c.Last(), dir)
		}
	})
	if err := job(c); err != nil && !errors.Is(err, ErrCrash) {
		t.Fatalf("the first process: %v", err)
	}
	n := c.Count()
	c.Now() // what it still does after the end must not reach the next one's disk
	next := c.Next()
	if err := job(next); err != nil {
		t.Fatalf("the next process: %v", err)
	}
	if !c.PowerLoss {
		next.PowerLoss = true
		next.Now()
		if err := job(next.Next()); err != nil {
			t.Fatalf("the process after a kill, another one and a power loss: %v", err)
		}
	}
	check()
	return n
}

// TempDir is a folder for a test. It is in memory if the system has such folders, which makes operations faster.
func TempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "disktest")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
