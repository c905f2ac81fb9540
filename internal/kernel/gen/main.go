// Gen writes the AVX-512 assembly of package kernel and its Go declarations. Run it
// from the root of the module:
//
//	go run ./internal/kernel/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write("internal/kernel"); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write generates both files into dir.
func write(dir string) error {
	a := generate()
	if err := os.WriteFile(filepath.Join(dir, "kernels_amd64.s"), []byte(a.source()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kernels_amd64.go"), []byte(a.declarations()), 0o644)
}

// generate emits every kernel.
func generate() *asm {
	a := &asm{}
	for _, k := range []gemm{f32GEMM, rowsGEMM, wideGEMM, dotGEMM} {
		k.emit(a)
	}
	packing(a)
	vectors(a)
	peaks(a)
	return a
}
