package optim

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The results of testdata/adamw.py, torch's own AdamW.
func TestTorch(t *testing.T) {
	raw, err := os.ReadFile("testdata/adamw.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Adam  tinker.AdamParams
			Start [][]float32
			Steps []struct {
				Grads, Params, M, V [][]float32
				Norm                float64
			}
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	for i, c := range golden.Cases {
		a, p := New([]int{7, 6}), c.Start
		for n, s := range c.Steps {
			norm, err := a.Update(p, s.Grads, c.Adam, serial)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(norm-s.Norm) > 1e-6*s.Norm {
				t.Errorf("case %d step %d: norm %v, torch %v", i, n, norm, s.Norm)
			}
			for what, pair := range map[string][2][][]float32{"param": {p, s.Params}, "m": {a.M, s.M},
				"v": {a.V, s.V}} {
				for k := range pair[0] {
					for j, got := range pair[0][k] {
						if want := pair[1][k][j]; math.Abs(float64(got-want)) > 5e-7+1e-6*math.Abs(float64(want)) {
							t.Errorf("case %d step %d: %s[%d][%d] = %v, torch %v", i, n, what, k, j, got, want)
						}
					}
				}
			}
		}
	}
	if len(golden.Cases) != 3 {
		t.Errorf("%d cases", len(golden.Cases))
	}
}

func TestThreadsDoNotChangeBits(t *testing.T) {
	const n = 100_001
	run := func(par Parallel) ([]float32, float64) {
		w, g := make([]float32, n), make([]float32, n)
		for i := range w {
			w[i], g[i] = float32(i%17)-8, float32(i%29)-13.5
		}
		a := New([]int{n, 1})
		var norm float64
		for range 3 {
			var err error
			if norm, err = a.Update([][]float32{w, {1}}, [][]float32{g, {2}}, tinker.DefaultAdam(), par); err != nil {
				t.Fatal(err)
			}
		}
		return w, norm
	}
	w1, n1 := run(serial)
	w2, n2 := run(func(parts int, f func(int)) {
		var wg sync.WaitGroup
		for i := range parts {
			wg.Go(func() { f(parts - 1 - i) })
		}
		wg.Wait()
	})
	if !slices.Equal(w1, w2) || n1 != n2 {
		t.Error("the step depends on who ran its parts")
	}
}

func TestFailedStepChangesNothing(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name  string
		adam  func(*tinker.AdamParams)
		grad  float32
		param float32
		want  string
	}{
		{"gradient", nil, inf, 1, "gradient is not finite"},
		{"NaN", nil, float32(math.NaN()), 1, "gradient is not finite"},
		{"overflow", func(p *tinker.AdamParams) { p.LearningRate = 3e38 }, 1, -3e38, "overflow; lower learning_rate"},
		{"second moment", nil, 1e30, 1, "parameter tensor 1 overflow"},
		{"rate", func(p *tinker.AdamParams) { p.LearningRate = math.NaN() }, 1, 1, "learning_rate is NaN"},
		{"rate", func(p *tinker.AdamParams) { p.LearningRate = -1 }, 1, 1, "learning_rate is -1"},
		{"beta", func(p *tinker.AdamParams) { p.Beta2 = 1 }, 1, 1,
			"beta2 is 1; it must be a number of 0 or more and below 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := tinker.DefaultAdam()
			if c.adam != nil {
				c.adam(&p)
			}
			a, params := New([]int{1, 2}), [][]float32{{1}, {c.param, 2}}
			_, err := a.Update(params, [][]float32{{1}, {c.grad, 1}}, p, serial)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if a.Step != 0 || params[0][0] != 1 || params[1][1] != 2 || a.M[0][0] != 0 || a.V[1][1] != 0 {
				t.Errorf("a failed step changed the state: %+v, %v", a, params)
			}
		})
	}
}

func TestZeroGradientKeepsParametersWithoutEps(t *testing.T) {
	p := tinker.DefaultAdam()
	p.Eps = 0
	params := [][]float32{{1, 2}}
	if _, err := New([]int{2}).Update(params, [][]float32{{0, 0}}, p, serial); err != nil ||
		!slices.Equal(params[0], []float32{1, 2}) {
		t.Errorf("params %v, %v", params, err)
	}
}

func BenchmarkUpdate(b *testing.B) {
	const n = 1 << 20
	a, w, g := New([]int{n}), [][]float32{make([]float32, n)}, [][]float32{make([]float32, n)}
	for i := range g[0] {
		g[0][i] = float32(i%7) - 3
	}
	for b.Loop() {
		if _, err := a.Update(w, g, tinker.DefaultAdam(), serial); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mparam/s")
}

// serial is a Parallel on one goroutine.
func serial(parts int, f func(part int)) {
	for i := range parts {
		f(i)
	}
}
