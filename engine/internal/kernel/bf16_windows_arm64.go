package kernel

import "syscall"

// hasBF16 reports whether the processor has FEAT_BF16: PF_ARM_V86_BF16_INSTRUCTIONS_AVAILABLE of winnt.h. An older
// Windows does not know the feature and answers no.
func hasBF16() bool {
	const bf16 = 68
	has, _, _ := syscall.NewLazyDLL("kernel32.dll").NewProc("IsProcessorFeaturePresent").Call(bf16)
	return has != 0
}
