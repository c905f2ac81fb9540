//go:build !linux

package main

// physicalMemory is not known on this system.
func physicalMemory() int64 { return 0 }
