//go:build !linux

package machine

import "time"

// ProcessorTime, PeakMemory and ResidentMemory are not measured on this system.
func ProcessorTime() time.Duration { return 0 }

func PeakMemory() float64 { return 0 }

func ResidentMemory() int64 { return 0 }
