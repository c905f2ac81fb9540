//go:build unix

package main

import "syscall"

// descriptors is the number of files and connections that the process may have open.
func descriptors() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
