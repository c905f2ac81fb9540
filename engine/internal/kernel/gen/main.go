// Command gen writes the assembly of package kernel and its Go declarations. Run it
// from the root of the module:
//
//	go run ./engine/internal/kernel/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write("engine/internal/kernel"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write generates all files into dir.
func write(dir string) error {
	for name, content := range files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files returns what is generated: assembly and declarations of each instruction set.
func files() map[string]string {
	wide, narrow, arm := avx512(), avx2(), neon()
	return map[string]string{
		"kernels_amd64.s":       wide.source(),
		"kernels_amd64.go":      wide.declarations(),
		"kernels_avx2_amd64.s":  narrow.source(),
		"kernels_avx2_amd64.go": narrow.declarations(),
		"kernels_neon_arm64.s":  arm.source(),
		"kernels_neon_arm64.go": arm.declarations(),
	}
}

// avx512 emits the kernels of the AVX-512 paths.
func avx512() *asm {
	a := &asm{}
	for _, k := range []gemm{f32GEMM, rowsGEMM, wideGEMM, dotGEMM, maddGEMM, vnniGEMM} {
		k.emit(a)
	}
	vnniNibbles.emit(a)
	blockedKernels(a)
	amx(a)
	packTile(a)
	packTilePairs(a)
	packing(a)
	vectors(a)
	peaks(a)
	return a
}
