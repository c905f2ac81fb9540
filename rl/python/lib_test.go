package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/python/pythontest"
)

// TestLibrary runs the tests of the package trinity that are Python's own, those of testdata/lib, with nothing but the
// standard library.
func TestLibrary(t *testing.T) {
	pythontest.Needed(t)
	t.Parallel()
	abs := func(path string) string {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := exec.Command("python3", "-B", "-m", "unittest", "discover", "-s", abs("testdata/lib"))
	c.Env = append(os.Environ(), "PYTHONPATH="+abs("lib"), "MONITOR_TESTDATA="+abs("../../monitor/testdata"))
	out, err := c.CombinedOutput()
	ran := regexp.MustCompile(`(?m)^Ran (\d\d+) tests`).Find(out)
	if err != nil || ran == nil {
		t.Errorf("%v\n%s", err, out)
	}
}
