// Package kernel holds the arithmetic of the engine: matrix products over
// packed panels, the vector operations around them and the worker pool that
// spreads both over cores.
//
// # Exactness
//
// Every output element is a pure function of its inputs, whatever the number of
// rows, the panel range, the threads or the path (portable Go, NEON, AVX2, AVX-512, AMX):
//
//   - A product with float32 panels keeps one float32 accumulator per output element
//     and walks k upward on it by fused multiply-adds. A block of k loads the
//     accumulator and continues; partial sums are never added to each other.
//   - A product with bf16 panels adds in one of two orders, the set's [Order]; each step
//     is a fused multiply-add whose subnormal inputs and results become signed zeros.
//     Sequential has one accumulator too and takes k in pairs, the odd element first and
//     then the even one. This is what the VDPBF16PS instruction does on AMD Zen 4 and on
//     Intel Sapphire and Emerald Rapids alike (no mismatch in 12.8 million random cases
//     over the whole exponent range on the latter). Blocked takes k in blocks of 32: it sums
//     the even and the odd elements of a block separately from zero, then adds the two sums
//     to each other and to the accumulator. This is what TDPBF16PS of AMX does (none in 4.8
//     million). Products of two bf16 values are exact in float32, so away from the ends
//     of the range a step is acc + x*w. K is padded with zeros to a multiple of 32.
//   - A product with [Quads], frozen weights in int8, takes inputs in int16 ([Ints]) and sums 512 k at a time in int32.
//     These sums are exact, so their order is free; as float32 they are added upward in k. AVX2 and AVX-512 multiply by
//     VPMADDWD, AVX-512 with VNNI by VPDPWSSD; the other paths do it in plain Go. Weights stored in 4 bits are integers
//     of the same kind: they are unpacked a block at a time, or multiplied as they are by a row that is alone.
//   - Reductions of vectors use 16 lanes, element i in lane i mod 16, and the tree
//     8-4-2-1 over the lanes.
//   - The exponential is one polynomial; it does not use the platform's function.
//
// Rounding to bf16 is to nearest even; subnormals become signed zeros and NaN
// stays NaN. The bits of a NaN are not part of the contract.
//
// The portable path is the definition. The other paths repeat it bit for bit;
// [Best] compares the two before it trusts a fast one.
//
// # Three ways to multiply bf16
//
// AMX uses the tiles of that extension: 2,200 GFLOP/s of a core where float32 has 200.
// AVX512BF16 uses VDPBF16PS. AVX512 widens bf16 to float32 in registers and uses
// two ordinary fused multiply-adds with the processor set to flush subnormals,
// which gives the same bits; AVX2 does so in registers of half the width. VDPBF16PS
// has twice the rate of float32 arithmetic on Zen 4 (230 against 115 GFLOP/s a core)
// but half of it on Emerald Rapids (102 against 204), where the second way is faster.
// So [Best] times both for some microseconds.
//
// On arm64 NEONBF16 multiplies pairs by BFMLALT and BFMLALB, and NEON widens them; [Best] times both here too. Either
// way the processor is set to flush subnormals. But Arm decides before rounding whether a result is subnormal, and the
// definition after: Arm flushes a sum that rounds up to the smallest normal number, and the definition keeps it. A
// flushed result leaves a mark in the processor's status. A kernel looks for it before it stores, and where there is
// one the definition computes that tile from the last stored sums on. Ordinary numbers never come near.
//
// # Reading rows
//
// The rows that are multiplied with bf16 panels are rounded and packed once ([Input]), by any number of workers, for
// all their products: those of the weights and of LoRA's first factor. LoRA's second factor is an [Addition] to the
// weights' product, which continues with it while the sums are in registers or in the cache. Gradients are such
// products too, over the rows of a sequence ([Stretches]).
//
// With float32 panels rows are copied to scratch at a distance that spreads them over the cache, or read in place if
// they are multiplied with few panels.
//
// On vectors a tile is at most 14×32 outputs in 28 registers, with AVX2 3×32 or 6×16 in 12, with NEON 3×32, 5×16 or
// 8×8 in 16 to 24; rows are divided evenly among tiles, which changes no bit.
//
// On AVX2 products of bf16 take panels outermost, in stretches that fit the first cache, and prefetch the next stretch:
// weights that come from memory are multiplied nearly as fast as those in a cache. On AVX-512, where a row of tiles is
// higher, rows stay outermost.
//
// # Generated code
//
// The assembly in kernels_amd64.s (AVX-512, AMX), kernels_avx2_amd64.s and kernels_neon_arm64.s is written by
//
//	go run ./engine/internal/kernel/gen
//
// Go's assembler has no mnemonics for VDPBF16PS and AMX, nor for arithmetic on NEON's vectors of float32; the generator
// writes their bytes.
package kernel
