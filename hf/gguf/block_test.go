package gguf

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// Every block of testdata/gguf_blocks.json has the values that ggml and Python's gguf give it, to the bit. The file has
// blocks that llama.cpp's quantisers made, and blocks of random bytes.
func TestBlocks(t *testing.T) {
	data, err := os.ReadFile("testdata/gguf_blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]struct {
		How    string
		Block  string   `json:"block_hex"`
		Values []string `json:"values_f32_hex"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for id := range Type(64) {
		l, _ := layouts(id)
		if l.widen == nil {
			continue
		}
		if len(all[l.name]) == 0 {
			t.Errorf("%s: no golden block", id)
		}
		for _, g := range all[l.name] {
			seen++
			raw, err := hex.DecodeString(g.Block)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]float32, len(g.Values))
			if err := Widen(id, got, raw); err != nil {
				t.Fatal(err)
			}
			for i, want := range g.Values {
				if s := fmt.Sprintf("%08x", math.Float32bits(got[i])); s != want {
					t.Fatalf("%s, %s: element %d is %s, want %s", id, g.How, i, s, want)
				}
			}
			checkNarrow(t, id, g.How, got, raw)
		}
	}
	if seen != 3*len(all) {
		t.Errorf("%d of %d golden blocks were compared", seen, 3*len(all))
	}
}

// checkNarrow stores the values of a block once more. The types that only round give the same bits, and so do blocks
// of Q8_0 that a quantiser made: the largest is 127 times the scale. Those with fitted scales give the same values.
func checkNarrow(t *testing.T, id Type, how string, values []float32, want []byte) {
	t.Helper()
	again := make([]byte, len(want))
	if err := Narrow(id, again, values); err != nil {
		return // a type that is not written
	}
	switch id {
	case F32, F16, BF16, Q8_0:
		if (id != Q8_0 || strings.Contains(how, "quantize")) && !bytes.Equal(again, want) {
			t.Errorf("%s, %s: the values are stored as %x, want %x", id, how, again, want)
		}
	default:
		if e := relative(t, id, values, again); e > 0.04 {
			t.Errorf("%s, %s: values of the type's own are stored with an error of %.4f", id, how, e)
		}
	}
}

// relative is the root of the mean squared error of a block, as a share of the values' own.
func relative(t *testing.T, id Type, values []float32, block []byte) float64 {
	t.Helper()
	got := make([]float32, len(values))
	if err := Widen(id, got, block); err != nil {
		t.Fatal(err)
	}
	miss, all := 0.0, 0.0
	for i, v := range values {
		miss += (float64(got[i]) - float64(v)) * (float64(got[i]) - float64(v))
		all += float64(v) * float64(v)
	}
	return math.Sqrt(miss / max(all, 1e-300))
}

// Every half widens to the value that its bits spell.
func TestHalf(t *testing.T) {
	for bits := range 1 << 16 {
		got := float64(half([]byte{byte(bits), byte(bits >> 8)}))
		sign, exponent, fraction := 1-2*float64(bits>>15), bits>>10&31, float64(bits&1023)
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(int(sign))
		case exponent == 31:
			want = math.NaN()
		}
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != math.Signbit(want) {
			if !math.IsNaN(want) {
				t.Fatalf("%04x is %v, want %v", bits, got, want)
			}
		}
	}
}
