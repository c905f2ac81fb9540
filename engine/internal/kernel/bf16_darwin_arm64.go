package kernel

import "syscall"

// hasBF16 reports whether the processor has FEAT_BF16, as Apple's "Determining Instruction Set Characteristics" has it.
func hasBF16() bool {
	has, err := syscall.SysctlUint32("hw.optional.arm.FEAT_BF16")
	return err == nil && has != 0
}
