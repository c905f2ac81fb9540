//go:build amd64 && !linux

package kernel

// allowTiles reports whether tiles may be used: only the Linux system call is implemented.
func allowTiles() bool { return false }
