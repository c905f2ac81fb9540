package disk

import (
	"os"
	"strconv"
	"strings"
)

// Flags and states of /proc, from proc(5) and include/linux/sched.h.
const (
	exiting = 0x4     // PF_EXITING
	sigkill = 1 << 8  // bit of signal 9 in a mask of pending signals
	dead    = "ZXx"   // states of an ended process
	proc    = "/proc" // where the kernel shows its processes
)

// ending reports whether a process was killed or has ended, and the system is still cleaning up.
func ending(pid int) bool {
	if gone(pid) {
		return true
	}
	dir := proc + "/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return gone(pid)
	}
	// The name, in brackets, may have any characters; the state follows it and, six fields later, the flags.
	_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
	fields := strings.Fields(rest)
	if len(fields) > 6 {
		flags, err := strconv.ParseUint(fields[6], 10, 64)
		if strings.Contains(dead, fields[0]) || err == nil && flags&exiting != 0 {
			return true
		}
	}
	status, err := os.ReadFile(dir + "/status")
	return err == nil && (pending(string(status), "SigPnd:") || pending(string(status), "ShdPnd:"))
}

// pending reports whether SIGKILL is pending, from a line of a status file.
func pending(status, name string) bool {
	_, rest, ok := strings.Cut(status, name)
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return ok && err == nil && mask&sigkill != 0
}
