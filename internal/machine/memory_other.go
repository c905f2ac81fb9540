//go:build !linux && !darwin

package machine

// Memory is unknown on this system.
func Memory() int64 { return 0 }
