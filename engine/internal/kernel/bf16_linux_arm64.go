package kernel

import (
	"encoding/binary"
	"os"
)

// hasBF16 reports whether the processor has FEAT_BF16: bit 14 of the second word of hardware capabilities, which the
// kernel passes in the auxiliary vector (Linux, Documentation/arch/arm64/elf_hwcaps.rst).
func hasBF16() bool {
	const hwcap2, bit = 26, 1 << 14
	vector, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return false
	}
	for ; len(vector) >= 16; vector = vector[16:] {
		if binary.NativeEndian.Uint64(vector) == hwcap2 {
			return binary.NativeEndian.Uint64(vector[8:])&bit != 0
		}
	}
	return false
}
