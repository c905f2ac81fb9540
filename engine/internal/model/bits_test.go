package model

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

// Logits, log-probabilities and gradients have the bits of testdata/bits.golden, on every path of this processor and
// on other processors: bench/arm64 runs this test there.
func TestGoldenBits(t *testing.T) {
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
	want, compared := map[string]string{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		name, _, _ := strings.Cut(line, ":")
		want[name] = line
	}
	for p := lowestPath(); p <= kernel.Detect(); p++ {
		t.Run(p.String(), func(t *testing.T) {
			defer remind(t)
			lines := bits(t, p, false)
			for _, line := range lines {
				name, _, _ := strings.Cut(line, ":")
				if compared[name] = true; want[name] != line {
					t.Errorf("got  %s\nwant %s", line, want[name])
				}
			}
			if len(lines) == 0 {
				t.Error("nothing was compared")
			}
		})
	}
	if len(compared) != len(want) && !testing.Short() {
		t.Errorf("%d of %d lines compared", len(compared), len(want))
	}
}

// remind logs the remedy for an intended change of the arithmetic.
func remind(t *testing.T) {
	if t.Failed() {
		t.Log("if the arithmetic was meant to change: go test ./engine/internal/model ./engine -run TestGoldenBits " +
			"-update, and another engine.Numerics")
	}
}

// bits trains families on path p, in each order that it offers, and returns a line for each: its name and hashes of
// what came out. They are all families on the best path of an order or if all is set; on others they are the diverse
// ones, with all weights in float32 and an adapter in the other dtypes.
func bits(t *testing.T, p kernel.Path, all bool) []string {
	var lines []string
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		k, err := kernel.New(p, order)
		if err != nil {
			continue // the path has the other order alone
		}
		best, err := kernel.Best(order)
		if err != nil {
			t.Error(err)
		}
		r, all := runnerOn(t, k, 2), all || p == best.Path()
		for arch, a := range architectures {
			if !all && !diverse(a) {
				continue
			}
			for _, c := range dtypes(arch) {
				m := newExactAs(t, k, c, arch)
				for adapter := range 2 {
					if c.Frozen != "" && adapter == 0 || !all && c.BF16 == (adapter == 0) {
						continue
					}
					s := m.train(t, r, adapter, false, 3)
					lines = append(lines, fmt.Sprintf("%v %s %s adapter=%d: logits %s logp %s gradients %s",
						order, a.Name, dtype(c), adapter, hash(s.logits), hash(s.logp), hash(s.grads...)))
				}
			}
		}
	}
	return lines
}

// hash is the beginning of the SHA-256 of values.
func hash(values ...[]float32) string {
	h := sha256.New()
	for _, x := range values {
		for _, v := range x {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12])
}
