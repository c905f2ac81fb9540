package optim

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

type dimuonCase struct {
	Shapes [][3]int // rank, in, out
	Dimuon tinker.DimuonParams
	Start  [][]float32
	Steps  []struct {
		Grads, Params, M [][]float32
		Norm             float64
	}
}

func (c dimuonCase) pairs() (pairs []Pair, lengths []int) {
	for i, s := range c.Shapes {
		pairs = append(pairs, Pair{A: 2 * i, B: 2*i + 1, Rank: s[0], In: s[1], Out: s[2]})
		lengths = append(lengths, s[0]*s[1], s[2]*s[0])
	}
	return pairs, lengths
}

func dimuonCases(t *testing.T) []dimuonCase {
	t.Helper()
	raw, err := os.ReadFile("testdata/dimuon.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Cases []dimuonCase }
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	return golden.Cases
}

// The results of testdata/dimuon.py, whose matrix functions are numpy's.
func TestDimuon(t *testing.T) {
	cases := dimuonCases(t)
	for i, c := range cases {
		pairs, lengths := c.pairs()
		d, p := NewDimuon(lengths), c.Start
		for n, s := range c.Steps {
			norm, err := d.Update(p, s.Grads, pairs, c.Dimuon, serial)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(norm-s.Norm) > 1e-6*s.Norm {
				t.Errorf("case %d step %d: norm %v, want %v", i, n, norm, s.Norm)
			}
			for what, pair := range map[string][2][][]float32{"param": {p, s.Params}, "m": {d.M, s.M}} {
				for k := range pair[0] {
					for j, got := range pair[0][k] {
						if want := pair[1][k][j]; math.Abs(float64(got-want)) > 1e-6+1e-6*math.Abs(float64(want)) {
							t.Fatalf("case %d step %d: %s[%d][%d] = %v, want %v", i, n, what, k, j, got, want)
						}
					}
				}
			}
		}
	}
	if len(cases) != 3 {
		t.Errorf("%d cases", len(cases))
	}
}

// Neither the number of threads nor the order of the parts changes a bit.
func TestDimuonOnThreads(t *testing.T) {
	c := dimuonCases(t)[2]
	pairs, lengths := c.pairs()
	beside := func(parts int, f func(int)) {
		var wg sync.WaitGroup
		for i := range parts {
			wg.Go(func() { f(parts - 1 - i) })
		}
		wg.Wait()
	}
	run := func(par Parallel) [][]float32 {
		d, p := NewDimuon(lengths), make([][]float32, len(c.Start))
		for i := range p {
			p[i] = slices.Clone(c.Start[i])
		}
		for _, s := range c.Steps {
			if _, err := d.Update(p, s.Grads, pairs, c.Dimuon, par); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	a, b := run(serial), run(beside)
	for i := range a {
		if !slices.Equal(a[i], b[i]) {
			t.Errorf("tensor %d differs", i)
		}
	}
}

// A step has the documented length, whatever the gradient's scale and rank.
func TestDimuonStepLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, scale := range []float64{1e-30, 1, 1e15} {
		p, g := [][]float32{make([]float32, 8*20), make([]float32, 30*8)}, [][]float32{make([]float32, 8*20),
			make([]float32, 30*8)}
		for k := range p {
			for i := range p[k] {
				p[k][i], g[k][i] = float32(r.NormFloat64()), float32(scale*r.NormFloat64())
			}
		}
		for i := range g[0] {
			g[0][i] = g[0][i%20] * float32(1+i/20) // of rank one
		}
		old := [][]float32{slices.Clone(p[0]), slices.Clone(p[1])}
		s := tinker.DefaultDimuon()
		s.LearningRate, s.RankExponent = 0.01, 0
		if _, err := NewDimuon([]int{160, 240}).Update(p, g, []Pair{{0, 1, 8, 20, 30}}, s, serial); err != nil {
			t.Fatal(err)
		}
		for k := range p {
			sum := 0.0
			for i := range p[k] {
				sum += math.Pow(float64(p[k][i]-old[k][i]), 2)
			}
			if got, want := math.Sqrt(sum), 0.01*math.Sqrt(8); math.Abs(got-want) > 1e-5*want {
				t.Errorf("scale %v, tensor %d: the step has length %v, want %v", scale, k, got, want)
			}
		}
	}
}

// Invalid settings are refused by name and change nothing.
func TestDimuonRefuses(t *testing.T) {
	good := tinker.DefaultDimuon()
	for _, c := range []struct {
		change func(*tinker.DimuonParams)
		grad   float32
		want   string
	}{
		{func(p *tinker.DimuonParams) { p.LearningRate = math.NaN() }, 1, "learning_rate of dimuon is NaN"},
		{func(p *tinker.DimuonParams) { p.LearningRate = -1 }, 1, "learning_rate of dimuon is -1"},
		{func(p *tinker.DimuonParams) { p.Beta1 = 1 }, 1, "beta1 of dimuon is 1"},
		{func(p *tinker.DimuonParams) { p.GradClipNorm = math.Inf(1) }, 1, "grad_clip_norm of dimuon is +Inf"},
		{func(p *tinker.DimuonParams) { p.Damping = 0 }, 1, "damping of dimuon is 0"},
		{func(p *tinker.DimuonParams) { p.RankExponent = math.NaN() }, 1,
			"rank_lr_correction_exponent of dimuon is NaN"},
		{func(p *tinker.DimuonParams) {}, float32(math.Inf(1)), "the gradient is not finite"},
		{func(p *tinker.DimuonParams) { p.LearningRate = math.MaxFloat32 }, 1, "overflow; lower learning_rate"},
	} {
		p := good
		c.change(&p)
		w, g := [][]float32{{3e38, 1}, {-3e38, 1}}, [][]float32{{c.grad, 0}, {c.grad, 0}}
		d := NewDimuon([]int{2, 2})
		_, err := d.Update(w, g, []Pair{{0, 1, 1, 2, 2}}, p, serial)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", p, err, c.want)
		}
		if w[0][0] != 3e38 || d.M[0][0] != 0 || d.Step != 0 {
			t.Errorf("%q changed something", c.want)
		}
	}
}

// A matrix sign has singular values of one: sign·signᵀ is the identity on the rows.
func TestSign(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, shape := range [][2]int{{1, 1}, {3, 8}, {8, 3}, {32, 32}, {64, 200}} {
		m := newMatrix(shape[0], shape[1])
		for i := range m.v {
			m.v[i] = r.NormFloat64()
		}
		s := m.sign()
		if s.rows > s.cols {
			s = s.transposed()
		}
		g := s.gram()
		for i := range g.rows {
			for j, x := range g.row(i) {
				want := 0.0
				if i == j {
					want = 1
				}
				if math.Abs(x-want) > 1e-7 {
					t.Fatalf("%v: element %d,%d of sign·signᵀ is %v", shape, i, j, x)
				}
			}
		}
	}
}

func BenchmarkDimuonPair(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const rank, in, out = 32, 576, 576
	p, g := [][]float32{make([]float32, rank*in), make([]float32, out*rank)}, [][]float32{make([]float32, rank*in),
		make([]float32, out*rank)}
	for k := range p {
		for i := range p[k] {
			p[k][i], g[k][i] = r.Float32(), r.Float32()-0.5
		}
	}
	d, s := NewDimuon([]int{rank * in, out * rank}), tinker.DefaultDimuon()
	s.LearningRate = 1e-4
	for b.Loop() {
		if _, err := d.Update(p, g, []Pair{{0, 1, rank, in, out}}, s, serial); err != nil {
			b.Fatal(err)
		}
	}
}
