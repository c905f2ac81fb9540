package sampler

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// wantedShares is the distribution that draw must follow, computed in float64.
func wantedShares(row []float32, s *Request) []float64 {
	ids := make([]int, len(row))
	p := make([]float64, len(row))
	top := float64(slices.Max(row))
	for i, v := range row {
		if ids[i], p[i] = i, math.Exp((float64(v)-top)/s.temperature); p[i] < s.minP {
			p[i] = 0
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int { return -cmpFloat(row[a], row[b]) })
	if s.topK > 0 && s.topK < len(ids) {
		ids = ids[:s.topK]
	}
	total, sum := 0.0, 0.0
	for _, i := range ids {
		total += p[i]
	}
	out := make([]float64, len(row))
	for _, i := range ids {
		out[i] = p[i]
		if sum += p[i]; s.topP < 1 && sum >= s.topP*total {
			break
		}
	}
	total = 0
	for _, v := range out {
		total += v
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

func cmpFloat(a, b float32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestDrawFollowsTheDistribution(t *testing.T) {
	if testing.Short() {
		t.Skip("for the race detector: it starts no goroutine")
	}
	r := rng.New(1).Stream("rows")
	k, d := bestKernels(), new(drawer)
	for _, s := range []*Request{
		{temperature: 1, topP: 1}, {temperature: 0.5, topP: 1}, {temperature: 3, topP: 1},
		{temperature: 1, topP: 1, topK: 5},
		{temperature: 1, topP: 0.7}, {temperature: 1.5, topP: 0.9, topK: 8}, {temperature: 1, topP: 1e-9},
		{temperature: 1, topP: 1, topK: 1},
		{temperature: 1, topP: 1, minP: 0.05}, {temperature: 2, topP: 0.8, minP: 0.1},
		{temperature: 1, topP: 1, topK: 4, minP: 0.3}, {temperature: 0.7, topP: 1, minP: 1},
	} {
		row := make([]float32, 150)
		for i := range row {
			row[i] = float32(3 * r.Normal())
		}
		want, counts := wantedShares(row, s), make([]float64, len(row))
		const n = 40_000
		for range n {
			counts[d.draw(k, row, s, r.Float64())]++
		}
		for i, c := range counts {
			if sd := math.Sqrt(n * want[i] * (1 - want[i])); math.Abs(c-n*want[i]) > 5*sd+1e-9 {
				t.Errorf("temperature %v top_k %d top_p %v min_p %v: token %d came %v times of %d, want %.0f",
					s.temperature, s.topK, s.topP, s.minP, i, c, n, n*want[i])
			}
		}
	}
}

func TestDrawAtTheEdges(t *testing.T) {
	k, d := bestKernels(), new(drawer)
	row := []float32{1, 5, 5, -1e30, 3}
	for _, c := range []struct {
		name string
		s    *Request
		u    float64
		want int32
	}{
		{"greedy takes the first of equals", &Request{topP: 1}, 0.99, 1},
		{"top_k 1 likewise", &Request{temperature: 1, topP: 1, topK: 1}, 0.99, 1},
		{"cold", &Request{temperature: 1e-40, topP: 1}, 0.999, 2},
		{"cold, low", &Request{temperature: 1e-40, topP: 1}, 0, 1},
		{"lowest", &Request{temperature: 1, topP: 1}, 0, 0},
		{"highest", &Request{temperature: 1, topP: 1}, 1 - 0x1p-53, 4},
		{"hot", &Request{temperature: 1e30, topP: 1}, 1 - 0x1p-53, 4},
	} {
		if got := d.draw(k, row, c.s, c.u); got != c.want {
			t.Errorf("%s: token %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDrawSkipsWhatHasNoWeight(t *testing.T) {
	k, d := bestKernels(), new(drawer)
	row := make([]float32, 300)
	for i := range row {
		row[i] = -1e30
	}
	row[70], row[290] = 2, 2
	for u, want := range map[float64]int32{0: 70, 0.49: 70, 0.51: 290, 1 - 0x1p-53: 290} {
		if got := d.draw(k, row, &Request{temperature: 1, topP: 1}, u); got != want {
			t.Errorf("u %v: token %d, want %d", u, got, want)
		}
	}
}

func TestBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(i int) float32 { return float32(i) }), 1, 60).Draw(t,
			"row")
		k := rapid.IntRange(0, len(row)+1).Draw(t, "k")
		ids := make([]int32, len(row))
		for i := range ids {
			ids[i] = int32(i)
		}
		want := slices.Clone(ids)
		slices.SortStableFunc(want, func(a, b int32) int { return -cmpFloat(row[a], row[b]) })
		if k > 0 && k < len(want) {
			want = want[:k]
		}
		if got := best(ids, row, k); !slices.Equal(got, want) {
			t.Fatalf("best %d of %v: %v, want %v", k, row, got, want)
		}
	})
}

func bestKernels() *kernel.Set {
	k, _ := kernel.Best(kernel.Native())
	return k
}
