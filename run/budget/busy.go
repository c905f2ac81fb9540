package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// waits is how long the threads of this process ran, and waited to run, in nanoseconds.
type waits struct {
	ran, waited float64
}

// readWaits sums over the threads. Where the system does not tell, as outside Linux, all is 0.
func readWaits() (sum waits) {
	paths, _ := filepath.Glob("/proc/self/task/*/schedstat") // the pattern is well-formed
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the thread ended
		}
		var ran, waited float64
		if _, err := fmt.Sscan(strings.TrimSpace(string(data)), &ran, &waited); err == nil {
			sum.ran, sum.waited = sum.ran+ran, sum.waited+waited
		}
	}
	return sum
}

// since is the share of the time since then that threads which could run waited for a processor.
func (w waits) since(then waits) float64 {
	ran, waited := w.ran-then.ran, w.waited-then.waited
	if ran <= 0 || waited <= 0 {
		return 0
	}
	return waited / (ran + waited)
}

// Busy warns if rates were measured while other programs had much of the processors; else it is "".
func (r Rates) Busy() string {
	if r.Waited < 0.15 {
		return ""
	}
	return fmt.Sprintf("this machine was busy: the measuring waited %.0f %% of its time for a processor that others "+
		"used, so the rates may be up to %.1f times as high when they end", 100*r.Waited, 1/(1-min(r.Waited, 0.9)))
}
