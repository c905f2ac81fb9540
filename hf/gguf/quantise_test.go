package gguf

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// The quantisers lose at most 5 % more than llama.cpp's on the same numbers, and mostly less: testdata/quantise.py
// recorded its errors.
func TestQuantiseBesideLlama(t *testing.T) {
	data, err := os.ReadFile("testdata/quantise.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Kind string
		Data []byte `json:"f32_base64"`
		RMSE map[string]float64
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, set := range all {
		x := make([]float32, len(set.Data)/4)
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(set.Data[4*i:]))
		}
		for _, id := range quantised() {
			want, there := set.RMSE[id.String()]
			got := rmse(x, store(t, id, x))
			t.Logf("%-36s %s: %.3e, llama.cpp %.3e", set.Kind, id, got, want)
			if !there || !(got <= 1.05*want) || got < want/3 {
				t.Errorf("%s as %s: an error of %.3e, llama.cpp's is %.3e", set.Kind, id, got, want)
			}
		}
	}
	if len(all) < 4 {
		t.Errorf("%d sets of numbers", len(all))
	}
}

// quantised are the types whose writers look for scales.
func quantised() []Type { return []Type{Q8_0, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K} }

// store is x as the type stores it.
func store(t *testing.T, id Type, x []float32) []float32 {
	t.Helper()
	size, _ := id.Bytes(int64(len(x)))
	raw, back := make([]byte, size), make([]float32, len(x))
	for i := range raw {
		raw[i] = 0xa5 // what was there before must not matter
	}
	if err := Narrow(id, raw, x); err != nil {
		t.Fatal(err)
	}
	if err := Widen(id, back, raw); err != nil {
		t.Fatal(err)
	}
	return back
}

func rmse(want, got []float32) float64 {
	sum := 0.0
	for i := range want {
		sum += (float64(got[i]) - float64(want[i])) * (float64(got[i]) - float64(want[i]))
	}
	return math.Sqrt(sum / float64(len(want)))
}

// No number is lost: blocks of zeros, of one value, of one sign, with one outlier, and of tiny and great numbers come
// back finite and near.
func TestQuantiseEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, at := range map[string]func(i int) float32{
		"zeros":    func(int) float32 { return 0 },
		"one":      func(int) float32 { return 0.25 },
		"minus":    func(int) float32 { return -0.25 },
		"positive": func(int) float32 { return 1 + r.Float32() },
		"negative": func(int) float32 { return -1 - r.Float32() },
		"ramp":     func(i int) float32 { return float32(i%32) - 3 },
		"tiny":     func(int) float32 { return (r.Float32() - 0.5) * 1e-20 },
		"great":    func(int) float32 { return (r.Float32() - 0.5) * 6e4 },
	} {
		x := make([]float32, 512)
		for i := range x {
			x[i] = at(i)
		}
		peak := max(slices.Max(x), -slices.Min(x))
		for _, id := range quantised() {
			if e := rmse(x, store(t, id, x)); !(e <= 0.07*float64(peak)+1e-9) {
				t.Errorf("%s as %s: an error of %v of values up to %v", name, id, e, peak)
			}
		}
	}
	outlier := make([]float32, 256)
	outlier[77] = -3
	for _, id := range quantised() {
		if back := store(t, id, outlier); math.Abs(float64(back[77])+3) > 0.02 || rmse(outlier, back) > 0.002 {
			t.Errorf("one outlier as %s: %v, an error of %v", id, back[77], rmse(outlier, back))
		}
	}
}

// Every scale and minimum of six bits comes back as it was put.
func TestPutSix(t *testing.T) {
	for part := range 8 {
		for v := range 64 {
			b := make([]byte, 12)
			for other := range 8 {
				putSix(b, other, (v+7*other)&63, (v*5+other)&63)
			}
			if s, m := sixBits(b, part); s != byte((v+7*part)&63) || m != byte((v*5+part)&63) {
				t.Fatalf("part %d: %d and %d", part, s, m)
			}
		}
	}
}

func BenchmarkNarrow(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 1<<16)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for _, id := range append(quantised(), F16, BF16) {
		size, _ := id.Bytes(int64(len(x)))
		raw := make([]byte, size)
		b.Run(fmt.Sprint(id), func(b *testing.B) {
			b.SetBytes(int64(len(x)))
			for b.Loop() {
				if err := Narrow(id, raw, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
