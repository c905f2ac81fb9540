//go:build unix

package main

import (
	"os"
	"syscall"
)

// peak is the peak memory of an ended process in bytes.
func peak(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }
