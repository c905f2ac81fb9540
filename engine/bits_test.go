package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

var update = flag.Bool("update", false, "rewrite testdata/bits.golden from the portable kernels")

// Two steps of training and the samples after them have the bits of testdata/bits.golden, on every path of this
// processor and on other processors: bench/arm64 runs this test there.
func TestGoldenBits(t *testing.T) {
	if testing.Short() {
		t.Skip("for the race detector: TestSettingsChangeNoBit trains and samples with the same goroutines")
	}
	golden := filepath.Join("testdata", "bits.golden")
	if *update {
		lines := strings.Join(bits(t, kernel.Portable, true), "\n") + "\n"
		if err := os.WriteFile(golden, []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for p := kernel.Portable; p <= kernel.Detect(); p++ {
		t.Run(p.String(), func(t *testing.T) {
			got := bits(t, p, false)
			for _, line := range got {
				if !strings.Contains(string(raw), line+"\n") {
					t.Errorf("got %s\nwant a line of\n%s", line, raw)
				}
			}
			if len(got) == 0 {
				t.Error("nothing was compared")
			}
			if t.Failed() {
				t.Log("if the arithmetic was meant to change: go test ./engine/internal/model ./engine -run " +
					"TestGoldenBits -update, and another Numerics")
			}
		})
	}
}

// bits trains on path p, in each order that it offers, and returns a line for each kind of training: its name and
// hashes of what came out. On the best path of an order, or if all is set, it is every kind; on others, adapters on
// bf16.
func bits(t *testing.T, p kernel.Path, all bool) []string {
	var lines []string
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		if _, err := kernel.New(p, order); err != nil {
			continue // the path has the other order alone
		}
		best, err := kernel.Best(order)
		if err != nil {
			t.Error(err)
		}
		all := all || p == best.Path()
		for _, k := range kinds {
			if k.write != nil || !all && !(k.bf16 && k.rank > 0) {
				continue
			}
			e := open(t, Options{BaseDtype: k.base,
				Models: map[string]Model{baseName: {Dir: k.model(t)}},
				Kernel: p.String(), Order: order.String()})
			c := create(t, e, 0, lora(k.rank))
			train(t, c, 2, mixed[0], mixed[1], mixed[3])
			trained := logprobs(t, c, mixed[0], mixed[1])
			tokens, sampled := sha256.New(), [][]float32(nil)
			for _, q := range draw(t, samplerOf(t, e, c, "last"), sampleRequest(2, 12, 3, mixed[3])).Sequences {
				sampled = append(sampled, q.Logprobs)
				fmt.Fprintln(tokens, q.Tokens)
			}
			lines = append(lines, fmt.Sprintf("%v %s: trained %s sampled %s tokens %x", order, k.name,
				bitsHash(trained...), bitsHash(sampled...), tokens.Sum(nil)[:6]))
		}
	}
	return lines
}

// bitsHash is the beginning of the SHA-256 of values.
func bitsHash(values ...[]float32) string {
	h := sha256.New()
	for _, x := range values {
		for _, v := range x {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}
