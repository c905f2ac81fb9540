package machine

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime is the processor time of this process, and PeakMemory its peak memory in bytes.
func ProcessorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func PeakMemory() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Maxrss) * 1024
}

// ResidentMemory is the memory that this process has in use, in bytes; 0 is not known.
func ResidentMemory() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	var size, resident int64
	if _, scanned := fmt.Sscan(string(data), &size, &resident); err != nil || scanned != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
