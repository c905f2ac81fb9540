//go:build !linux

package main

import "time"

// processorTime and peakMemory are not measured on this system.
func processorTime() time.Duration { return 0 }

func peakMemory() float64 { return 0 }
