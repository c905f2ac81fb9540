package kernel

import "golang.org/x/sys/cpu"

// detect returns the best path this processor offers.
func detect() Path {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasBMI2:
		return AVX2
	case !x.HasAVX512BF16:
		return AVX512
	case !x.HasAMXTile || !x.HasAMXBF16 || !allowTiles():
		return AVX512BF16
	}
	return AMX
}

// fastOps returns the kernels of a path other than Portable.
func fastOps(p Path, o Order) ops {
	switch p {
	case AVX2:
		return newAVX2(o)
	case AMX:
		return amx{newAVX512(o, false)}
	}
	return newAVX512(o, p == AVX512BF16)
}

// rival returns the lower path that may multiply bf16 faster than p: VDPBF16PS has twice the rate of float32 arithmetic
// on some processors and half of it on others.
func rival(p Path) (lower Path, ok bool) { return AVX512, p == AVX512BF16 }
