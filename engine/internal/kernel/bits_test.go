package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	flags "flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateBits = flags.Bool("bits.update", false, "rewrite testdata/bits.golden from the portable kernels")

// The self-test's results have the bits of testdata/bits.golden, on every path of this processor and on other
// processors: bench/arm64 runs this test there.
func TestGoldenBits(t *testing.T) {
	golden := filepath.Join("testdata", "bits.golden")
	if *updateBits {
		text := probeBits(definition(Sequential)) + probeBits(definition(Blocked))
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	forEachPath(t, func(t *testing.T, s *Set) {
		if got := probeBits(s); !strings.Contains(string(want), got) {
			t.Errorf("got\n%swant lines of\n%s", got, want)
		}
	})
}

// probeBits returns a line for every probe: the order, its name and a hash of its results.
func probeBits(s *Set) string {
	var text strings.Builder
	for i, x := range s.results() {
		h := sha256.New()
		for _, v := range x {
			if v != v {
				v = float32(math.NaN()) // any NaN is like another
			}
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
		fmt.Fprintf(&text, "%v, %s: %x\n", s.order, probes[i].name, h.Sum(nil)[:12])
	}
	return text.String()
}
