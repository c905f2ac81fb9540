package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Oldest is the oldest Python that runs the library.
const Oldest = "3.10"

// Find says which Python to run: explicit (--python), else the one of a virtual environment
// (VIRTUAL_ENV), else python3.
func Find(explicit, virtualEnv string) string {
	switch {
	case explicit != "":
		return explicit
	case virtualEnv == "" && runtime.GOOS == "windows":
		return "python"
	case virtualEnv == "":
		return "python3"
	case runtime.GOOS == "windows":
		return filepath.Join(virtualEnv, "Scripts", "python.exe")
	}
	return filepath.Join(virtualEnv, "bin", "python")
}

// lookup finds an executable by path or name. A folder is a virtual environment.
func lookup(executable string) (string, error) {
	if info, err := os.Stat(executable); err == nil && info.IsDir() {
		executable = Find("", executable)
	}
	path, err := exec.LookPath(executable)
	if err != nil {
		return "", fmt.Errorf("python: no Python: %w; install Python %s or newer, or name one with --python",
			err, Oldest)
	}
	return path, nil
}

// tooOld checks the version in hello.
func tooOld(executable, version string) error {
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("python: %s names no version: %q", executable, version)
	}
	if major < 3 || major == 3 && minor < 10 {
		return fmt.Errorf("python: %s is Python %s, and %s or newer is needed; name another with --python",
			executable, version, Oldest)
	}
	return nil
}
