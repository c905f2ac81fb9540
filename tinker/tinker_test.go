package tinker

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
)

func datumOf(tokens int) Datum {
	return Datum{ModelInput: Text(make([]int32, tokens)),
		LossFnInputs: map[string]Tensor{TargetTokens: Ints(make([]int64, tokens)),
			Weights: Floats(make([]float32, tokens))}}
}

// A datum of n tokens counts 4n + 8n + 4n bytes.
func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []int
		lim   Limits
		want  []int // datums per chunk
	}{
		{"one chunk", []int{1, 2, 3}, Limits{10, 1000}, []int{3}},
		{"by number", []int{1, 1, 1, 1, 1}, Limits{2, 1000}, []int{2, 2, 1}},
		{"by bytes", []int{2, 2, 2}, Limits{10, 70}, []int{2, 1}},
		{"exactly full", []int{2, 2, 2}, Limits{10, 64}, []int{2, 1}},
		{"one that is too large goes alone", []int{1, 100, 1}, Limits{10, 70}, []int{1, 1, 1}},
	} {
		var data []Datum
		for _, n := range tt.sizes {
			data = append(data, datumOf(n))
		}
		var got []int
		for _, c := range split(data, tt.lim) {
			got = append(got, len(c))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: chunks of %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCombine(t *testing.T) {
	a := ForwardOutput{LossFnOutputs: make([]map[string]Tensor, 3),
		Metrics: map[string]float64{"l:sum": 1, "lo:min": 2, "hi:max": 3, "m:mean": 4, "s:slack": 5, "u:unique": 6,
			"only:sum": 7, "x:strange": 8}}
	b := ForwardOutput{LossFnOutputs: make([]map[string]Tensor, 1),
		Metrics: map[string]float64{"l:sum": 10, "lo:min": 20, "hi:max": 30, "m:mean": 40, "s:slack": 50,
			"u:unique": 60, "x:strange": 80}}
	got, err := combine([]ForwardOutput{a, b})
	want := map[string]float64{"l:sum": 11, "lo:min": 2, "hi:max": 30, "m:mean": 13, "s:slack": 50 - 16.25,
		"u:unique": 6, "u:unique_1": 60}
	if err != nil || len(got.LossFnOutputs) != 4 || !reflect.DeepEqual(got.Metrics, want) {
		t.Errorf("Combine = %d outputs, %v, %v; want 4, %v", len(got.LossFnOutputs), got.Metrics, err, want)
	}
	for _, bad := range []string{"loss", "a:b:sum", ":sum"} {
		if _, err := combine([]ForwardOutput{{Metrics: map[string]float64{bad: 1}}}); err == nil {
			t.Errorf("metric %q is no error", bad)
		}
	}
}

// The mean of equal numbers is the number and their slack 0, whatever the sizes of the chunks.
func TestCombineEqual(t *testing.T) {
	var chunks []ForwardOutput
	for _, size := range []int{5, 6, 7} {
		chunks = append(chunks, ForwardOutput{LossFnOutputs: make([]map[string]Tensor, size),
			Metrics: map[string]float64{"m:mean": 0.1, "s:slack": 0.1}})
	}
	got, err := combine(chunks)
	if want := map[string]float64{"m:mean": 0.1, "s:slack": 0}; err != nil || !reflect.DeepEqual(got.Metrics, want) {
		t.Errorf("metrics %v, %v; want %v", got.Metrics, err, want)
	}
}

func TestTensorJSONKeepsBits(t *testing.T) {
	nan := math.Float32frombits(0x7fc12345)
	for _, want := range []Tensor{
		Floats([]float32{0, float32(math.Copysign(0, -1)), 1e-45, float32(math.Inf(-1)), nan}),
		Ints([]int64{math.MinInt64, -1, math.MaxInt64}),
		{Shape: []int{2, 2}, Float: []float32{1, 2, 3, 4}},
	} {
		raw, err := json.Marshal(want)
		var got Tensor
		if err == nil {
			err = json.Unmarshal(raw, &got)
		}
		if err != nil || !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Int, want.Int) ||
			len(got.Float) != len(want.Float) {
			t.Fatalf("%s read back as %+v, %v", raw, got, err)
		}
		for i := range want.Float {
			if math.Float32bits(got.Float[i]) != math.Float32bits(want.Float[i]) {
				t.Errorf("element %d: bits %x, want %x", i, math.Float32bits(got.Float[i]),
					math.Float32bits(want.Float[i]))
			}
		}
	}
	for _, bad := range []string{`{"dtype":"float32","data":"AAA="}`, `{"dtype":"float64","data":""}`,
		`{"dtype":"int64","data":"?"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), new(Tensor)); err == nil {
			t.Errorf("%s is no error", bad)
		}
	}
}

func TestPaths(t *testing.T) {
	const good = "tinker://run:train:0/sampler_weights/000080"
	p, err := ParsePath(good)
	if want := (Path{"run:train:0", KindSampler, "000080"}); err != nil || p != want || p.String() != good {
		t.Errorf("ParsePath(%q) = %+v, %v", good, p, err)
	}
	for _, bad := range []string{"", "tinker://a/weights", "tinker://a/weights/b/c", "tinker://a/other/b",
		"tinker:///weights/b", "file://a/weights/b", "tinker://a/weights/..", "tinker://a/weights/x y"} {
		if _, err := ParsePath(bad); CategoryOf(err) != User {
			t.Errorf("ParsePath(%q): %v, want a user error", bad, err)
		}
	}
}

func TestFuture(t *testing.T) {
	f, resolve := NewFuture[int]()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := f.Wait(ctx); !errors.Is(err, gone) {
		t.Errorf("Wait with an ended context: %v", err)
	}
	g := Then(f, func(n int) (string, error) { return string(rune('a' + n)), nil })
	resolve(2, nil)
	if v, err := f.Wait(ctx); v != 2 || err != nil {
		t.Errorf("Wait of a resolved future with an ended context: %v, %v", v, err)
	}
	if v, err := g.Wait(t.Context()); v != "c" || err != nil {
		t.Errorf("Then = %q, %v", v, err)
	}
	bad := Then(Resolved(0, gone), func(int) (int, error) { t.Error("mapped a failed future"); return 0, nil })
	if _, err := bad.Wait(t.Context()); !errors.Is(err, gone) {
		t.Errorf("Then of an error: %v", err)
	}
}
