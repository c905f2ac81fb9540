//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime is the processor time of this process and of the children it has waited for.
func processTime() (time.Duration, bool) {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return 0, false
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum, true
}
