package kernel

import "golang.org/x/sys/cpu"

// intFamilies are the kernels of int8 products that this processor has but does not choose.
func intFamilies() []ops {
	if Detect() < AVX512 || !cpu.X86.HasAVX512VNNI {
		return nil
	}
	f := newAVX512(Sequential, false)
	f.ints, f.one = maddKernels[:], avx2Nibbles
	return []ops{f}
}
