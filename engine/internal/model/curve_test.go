package model

import (
	"math"
	"testing"
)

// adamW is torch.optim.AdamW after torch.nn.utils.clip_grad_norm_ to norm 1, with the numbers of testdata/goldens.py.
type adamW struct {
	step int
	m, v [][]float64
}

func (o *adamW) update(x []Tensor, g *Grads) {
	const lr, b1, b2, eps, decay = 1e-2, 0.9, 0.95, 1e-8, 0.01
	sum := 0.0
	for i, t := range g.T {
		if o.step == 0 {
			o.m, o.v = append(o.m, make([]float64, len(t.Data))), append(o.v, make([]float64, len(t.Data)))
		}
		for _, v := range g.T[i].Data {
			sum += float64(v) * float64(v)
		}
	}
	o.step++
	clip := min(1, 1/(math.Sqrt(sum)+1e-6))
	c1, c2 := 1-math.Pow(b1, float64(o.step)), 1-math.Pow(b2, float64(o.step))
	for i, t := range g.T {
		for j, v := range t.Data {
			d := float64(v) * clip
			o.m[i][j] = b1*o.m[i][j] + (1-b1)*d
			o.v[i][j] = b2*o.v[i][j] + (1-b2)*d*d
			w := float64(x[i].Data[j]) * (1 - lr*decay)
			x[i].Data[j] = float32(w - lr*o.m[i][j]/c1/(math.Sqrt(o.v[i][j]/c2)+eps))
		}
	}
}

// Ten training steps, with the weights packed again after each, have PyTorch's losses.
func TestLossCurve(t *testing.T) {
	r, k := newRunner(t, 2)
	for _, name := range goldenModels {
		t.Run(name+"/full", func(t *testing.T) {
			g := loadGolden(t, k, name)
			x := g.w.Tensors()
			followCurve(t, r, g, x, g.expect["curve.full"], func() (*Weights, *Adapter, error) {
				w, err := NewWeights(g.w.Config, x, alone(k))
				return w, nil, err
			})
		})
		t.Run(name+"/lora", func(t *testing.T) {
			g := loadGolden(t, k, name)
			followCurve(t, r, g, g.tensors, g.expect["curve.lora"], func() (*Weights, *Adapter, error) {
				a, err := g.w.NewAdapter(g.lora, g.tensors, k)
				return g.w, a, err
			})
		})
	}
}

func followCurve(t *testing.T, r *Runner, g golden, x []Tensor, want []float32,
	pack func() (*Weights, *Adapter, error)) {
	t.Helper()
	grads, tape, opt := NewGrads(x), r.NewTape(true), adamW{}
	for i, v := range want {
		w, a, err := pack()
		if err != nil {
			t.Fatal(err)
		}
		grads.Zero()
		_, _, loss := step(t, r, w, batch(w.Config, a, g.tokens...), g.weights, tape, grads)
		if math.Abs(loss-float64(v)) > 2e-4*(1+math.Abs(float64(v))) {
			t.Errorf("step %d: loss %v, want %v", i, loss, v)
		}
		opt.update(x, grads)
	}
}
