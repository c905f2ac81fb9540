package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestCommittedFilesAreGenerated(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale: run go run ./engine/internal/kernel/gen", name)
		}
	}
}

// Instructions that a processor without AVX-512 cannot decode: other registers, and names that exist only with an EVEX
// prefix.
func TestAVX2HasNoEVEX(t *testing.T) {
	evex := regexp.MustCompile(`\b(Z\d+|K[0-7]|[XY](1[6-9]|2\d|3[01])|VP(AND|ANDN|OR|XOR)[DQ]|VMOVDQ[UA](8|16|32|` +
		`64)|VRNDSCALE\w+|VSCALEF\w+)\b`)
	for name, text := range files() {
		if found := evex.FindString(text); found != "" && name == "kernels_avx2_amd64.s" {
			t.Errorf("%s uses %s", name, found)
		}
	}
	if !evex.MatchString(avx512().source()) {
		t.Error("the pattern finds nothing in the AVX-512 kernels either")
	}
}
