package program

import (
	"bytes"
	"errors"
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

// Resident is the memory in KiB of the server's process that is not swapped out. It needs Linux.
func (s *Server) Resident() (int, error) { return s.now.status("VmRSS") }

// Peak is the most memory in KiB that the process had. It needs Linux.
func (p *Process) Peak() (int, error) { return p.status("VmHWM") }

// status reads a number of KiB in the process's status.
func (p *Process) status(name string) (int, error) {
	path := fmt.Sprintf("/proc/%d/status", p.PID())
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(raw)
	if found == nil {
		return 0, fmt.Errorf("no %s in %s", name, path)
	}
	return strconv.Atoi(string(found[1]))
}

// CPU is the processor time that the process has taken, which other work on the machine does not change. It needs
// Linux.
func (p *Process) CPU() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	user, err1 := strconv.Atoi(string(fields[11])) // hundredths of a second
	system, err2 := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err1, err2)
}
