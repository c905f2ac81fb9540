package program

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

// AwaitMetric waits until a number of the server's /metrics has a value. It asks again and again, for no event tells.
func (s *Server) AwaitMetric(name string, want int) error {
	pattern := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`)
	for ; ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(s.URL + "/metrics")
		if err != nil {
			return err
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return err
		}
		found := pattern.FindSubmatch(raw)
		if found == nil {
			return fmt.Errorf("/metrics lacks %s:\n%s", name, raw)
		}
		if got, err := strconv.ParseFloat(string(found[1]), 64); err != nil || int(got) == want {
			return err
		}
	}
}

// resident matches the memory that is not swapped out.
var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// Resident is the memory in KiB of the server's process that is not swapped out. It needs Linux.
func (s *Server) Resident() (int, error) {
	path := fmt.Sprintf("/proc/%d/status", s.now.PID())
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	found := resident.FindSubmatch(raw)
	if found == nil {
		return 0, fmt.Errorf("no VmRSS in %s", path)
	}
	return strconv.Atoi(string(found[1]))
}
