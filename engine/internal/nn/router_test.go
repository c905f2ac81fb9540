package nn

import (
	"math"
	"slices"
	"testing"
)

func TestRouterChooses(t *testing.T) {
	k, _ := set(t)
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name   string
		logits []float32
		want   []int32
	}{
		{"upward", []float32{0, 1, 2, 3, 4}, []int32{2, 3, 4}},
		{"downward", []float32{4, 3, 2, 1, 0}, []int32{0, 1, 2}},
		{"equal ones by index", []float32{1, 2, 2, 2, 2}, []int32{1, 2, 3}},
		{"equal ones behind the largest", []float32{1, 1, 1, 1, 2}, []int32{0, 1, 4}},
		{"zeros of both signs", []float32{0, float32(math.Copysign(0, -1)), 0, 0, -1}, []int32{0, 1, 2}},
		{"no numbers", []float32{nan, nan, nan, nan, nan}, []int32{0, 1, 2}},
	} {
		got, weights, all := make([]int32, 3), make([]float32, 3), make([]float32, 5)
		Router{Experts: 5, Used: 3, Normed: true}.Choose(k, got, weights, all, tt.logits)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// by hand: e, e², e³ and their sums
	logits, chosen, weights, all := []float32{1, 3, 2}, make([]int32, 2), make([]float32, 2), make([]float32, 3)
	for _, tt := range []struct {
		normed bool
		want   [2]float64
	}{{true, [2]float64{0.7310586, 0.2689414}}, {false, [2]float64{0.6652410, 0.2447285}}} {
		Router{Experts: 3, Used: 2, Normed: tt.normed}.Choose(k, chosen, weights, all, logits)
		for j, want := range tt.want {
			if math.Abs(float64(weights[j])-want) > 1e-6 {
				t.Errorf("normed %v: weight %d is %v, want %v", tt.normed, j, weights[j], want)
			}
		}
	}
}

func TestRouterGradient(t *testing.T) {
	k, _ := set(t)
	for _, normed := range []bool{true, false} {
		r := Router{Experts: 7, Used: 3, Normed: normed}
		logits, dy, all := []float32{0.1, 1.5, -2, 0.9, -0.4, 2, -1}, normal(2, 3), make([]float32, 7)
		chosen, weights, got := make([]int32, 3), make([]float32, 3), make([]float32, 7)
		loss := func() float64 {
			r.Choose(k, chosen, weights, all, logits)
			return weighted(weights, dy)
		}
		loss()
		r.Backward(got, dy, chosen, weights, all)
		checkGradient(t, "dlogits", logits, got, loss)
	}
}
