package run

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

// TestMain makes this test binary a program whose tools have a sandbox, and the agents of tests.
func TestMain(m *testing.M) {
	if code, is := tool.Stage(os.Args); is {
		os.Exit(code)
	}
	if role := os.Getenv("RUN_TEST_AGENT"); role != "" {
		os.Exit(agentMain(role))
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30) // beyond it garbage is collected at once: many jobs are open beside each other
	pythontest.Prepare()
	os.Exit(inMemory(m.Run))
}

// inMemory runs the tests with their temporary folders in memory, if there is such a folder with room: most of what a
// job does for its durability is to wait for a disk.
func inMemory(run func() int) int {
	dir, err := os.MkdirTemp("/dev/shm", "run-test")
	if err != nil {
		return run()
	}
	defer os.RemoveAll(dir)
	os.Setenv("TMPDIR", dir)
	return run()
}

// unraced skips a test under -short, which is for the race detector: another test runs the same goroutines, and what is
// this one's own are numbers or files.
func unraced(t *testing.T, other string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("%s runs the same goroutines under the race detector", other)
	}
}
