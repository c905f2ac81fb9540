//go:build unix

package machine

import "syscall"

// Descriptors is the number of files and connections that the process may have open.
func Descriptors() (n uint64, ok bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true
}
