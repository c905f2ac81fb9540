package kernel

import (
	"os"
	"strings"
	"testing"
)

// The operations of a loop are those of its instructions, of 4 lanes and 2 operations each.
func TestPeakCountsTheInstructions(t *testing.T) {
	source, err := os.ReadFile("kernels_neon_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	for p, c := range map[Path]struct{ function, instruction string }{
		NEON: {"neonPeak", "// FMLA "}, NEONBF16: {"neonPeakDot", "// BFMLAL"},
	} {
		_, body, _ := strings.Cut(string(source), "TEXT ·"+c.function+"(SB)")
		body, _, _ = strings.Cut(body, "RET")
		want := float64(strings.Count(body, c.instruction) * 4 * 2 * peakRounds)
		if _, got := PeakLoop(p); p <= Detect() && (got != want || want == 0) {
			t.Errorf("%v: %v operations, its loop has %v", p, got, want)
		}
	}
}
