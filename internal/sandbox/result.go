package sandbox

import (
	"fmt"
	"time"
)

// Stop is the limit that ended a run.
type Stop string

// The limits that end a run. The others are errors that the program itself sees.
const (
	Ended       Stop = ""
	StopWall    Stop = "wall"
	StopCPU     Stop = "cpu"
	StopMemory  Stop = "memory"
	stopStarved Stop = "starved" // other programs had the processors nearly all the time; Run returns an error
)

// Result tells how a run ended.
type Result struct {
	Stdout, Stderr       []byte // the first bytes of stdout, the last of stderr
	StdoutCut, StderrCut int64  // bytes left out
	Exit                 int    // status; -1 if a signal ended the program
	Signal               int    // that signal, or 0
	Stopped              Stop
	Wall, CPU            time.Duration
	Left                 int // processes that the program left behind, which were killed
}

// OK reports whether the program ended with status 0 and was not stopped.
func (r Result) OK() bool { return r.Stopped == Ended && r.Exit == 0 }

// Why says in words how a run ended that is not OK, "" for one that is.
func (r Result) Why(l Limits) string {
	l = l.withDefaults()
	switch {
	case r.Stopped == StopWall:
		return fmt.Sprintf("stopped after %v, the limit of the wall time", l.Wall)
	case r.Stopped == StopCPU:
		return fmt.Sprintf("stopped after %v of CPU time, the limit", l.CPU)
	case r.Stopped == StopMemory:
		return fmt.Sprintf("stopped at more than %d MiB of memory, the limit", l.Memory>>20)
	case r.Signal != 0:
		return fmt.Sprintf("ended by signal %d", r.Signal)
	case r.Exit != 0:
		return fmt.Sprintf("ended with status %d", r.Exit)
	}
	return ""
}

// head keeps the first bytes of what is written to it.
type head struct {
	kept  []byte
	limit int
	cut   int64
}

// Write implements io.Writer; it never fails.
func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.cut += int64(len(p) - n)
	return len(p), nil
}

// tail keeps the last bytes of what is written to it.
type tail struct {
	kept  []byte
	limit int
	cut   int64
}

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - t.limit; extra > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[extra:])]
		t.cut += int64(extra)
	}
	return len(p), nil
}
