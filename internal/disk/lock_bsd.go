//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package disk

// ending reports whether a process has ended. What the system still does with one that was killed is not shown here.
func ending(pid int) bool { return gone(pid) }
