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
		if err := os.WriteFile(golden, []byte(strings.Join(bits(t, kernel.Portable), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(raw)), "\n")
	for p := lowestPath(); p <= kernel.Detect(); p++ {
		t.Run(p.String(), func(t *testing.T) {
			defer remind(t)
			compared := 0
			for _, line := range bits(t, p) {
				name, _, _ := strings.Cut(line, ":")
				for _, w := range want {
					if strings.HasPrefix(w, name+":") {
						compared++
						if w != line {
							t.Errorf("got  %s\nwant %s", line, w)
						}
					}
				}
			}
			if compared == 0 || p == kernel.Portable && compared != len(want) {
				t.Errorf("%d of %d lines compared", compared, len(want))
			}
		})
	}
}

// remind logs the remedy for an intended change of the arithmetic.
func remind(t *testing.T) {
	if t.Failed() {
		t.Log("if the arithmetic was meant to change: go test ./engine/internal/model ./engine -run TestGoldenBits " +
			"-update, and another engine.Numerics")
	}
}

// bits trains every family once on path p, in each order that it offers, and returns a line for each: its name and
// hashes of what came out.
func bits(t *testing.T, p kernel.Path) []string {
	var lines []string
	for _, order := range []kernel.Order{kernel.Sequential, kernel.Blocked} {
		k, err := kernel.New(p, order)
		if err != nil {
			continue // the path has the other order alone
		}
		r := runnerOn(t, k, 2)
		for arch, a := range architectures {
			for _, c := range dtypes(arch) {
				m := newExactAs(t, k, c, arch)
				for adapter := range 2 {
					if c.Frozen != "" && adapter == 0 {
						continue // the weights are frozen
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
