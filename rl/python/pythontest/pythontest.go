// Package pythontest finds Python for tests.
package pythontest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// Prepare parses the flags for a TestMain, and is Direct. More tests run beside each other than there are processors,
// unless -parallel says how many: they wait for Python and for servers as long as they compute.
func Prepare() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		flag.Set("test.parallel", "8")
	}
	Direct()
}

// Direct puts the folder of the interpreter that python3 starts in front of PATH, for a TestMain. A version manager has
// a shell script under the name, which takes longer than Python does.
func Direct() {
	said, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if path := strings.TrimSpace(string(said)); err == nil && path != "" {
		os.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
}

// Share makes a folder in which the hosts of a test program, and of the programs it starts, unpack and compile the
// carried library once: Shared, for python.Options.Folder. It is for a TestMain, which calls end instead of os.Exit.
func Share() (end func(code int)) {
	os.Unsetenv("PYTHONDONTWRITEBYTECODE")
	if Shared() != "" {
		return os.Exit
	}
	folder, err := os.MkdirTemp("", "trinity-test-python-*")
	if err != nil {
		return os.Exit // each host has a folder of its own
	}
	os.Setenv(shared, folder)
	return func(code int) {
		os.RemoveAll(folder)
		os.Exit(code)
	}
}

// Shared is the folder that Share has made, or "".
func Shared() string { return os.Getenv(shared) }

const shared = "TRINITY_TEST_PYTHON_SHARED"

// Needed skips a test where there is no Python.
func Needed(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3: " + python.Oldest + " or newer runs this test, and CI has one")
	}
}
