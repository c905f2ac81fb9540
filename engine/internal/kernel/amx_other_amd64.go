//go:build amd64 && !linux

package kernel

// allowTiles reports whether tiles may be used: how to ask is known for Linux alone.
func allowTiles() bool { return false }
