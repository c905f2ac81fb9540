//go:build !amd64

package kernel

func peakFMALoop() (func(), float64) { return nil, 0 }

func peakDotLoop() (func(), float64) { return nil, 0 }
