//go:build !linux

package machine

import "time"

// ProcessorTime and PeakMemory are not measured on this system.
func ProcessorTime() time.Duration { return 0 }

func PeakMemory() float64 { return 0 }
