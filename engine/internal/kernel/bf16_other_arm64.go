//go:build !linux && !darwin && !windows

package kernel

// hasBF16 reports whether the processor is known to have FEAT_BF16.
func hasBF16() bool { return false }
