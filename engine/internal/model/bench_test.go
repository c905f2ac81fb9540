//go:build unix

package model

import (
	"fmt"
	"syscall"
	"testing"
)

// flops returns the floating-point operations of one token's forward in matrix products, of the base and of a LoRA.
func flops(c Config, rank int) (base, lora float64) {
	attn := float64(c.Dim*(c.QDim()+2*c.KVDim()) + c.QDim()*c.Dim)
	mlp := float64(3 * c.Dim * c.FF)
	base = 2 * (float64(c.Layers)*(attn+mlp) + float64(c.Dim*c.Vocab))
	in := 3*c.Dim + c.QDim() + 2*c.Dim + c.FF
	out := c.QDim() + 2*c.KVDim() + c.Dim + 2*c.FF + c.Dim
	lora = 2 * float64(rank) * float64(c.Layers*(in+out)+c.Dim+c.Vocab)
	return base, lora
}

// benchModel is a model with a LoRA of rank 32 on everything, 128 sequences of 110 tokens and their weights of the
// loss.
type benchModel struct {
	r       *Runner
	w       *Weights
	adapter *Adapter
	full    []Tensor
	lora    []Tensor
	tokens  [][]int32
}

func newBenchModel(b *testing.B, bf16 bool) benchModel {
	r, k := newRunner(b, 2)
	c := shipped(bf16)
	m := benchModel{r: r, full: RandomTensors(c, 1)}
	var err error
	if m.w, err = NewWeights(c, m.full, alone(k)); err != nil {
		b.Fatal(err)
	}
	l := LoRA{Rank: 32, Alpha: 32, Attn: true, MLP: true, Unembed: true}
	m.lora = m.w.NewLoRA(l, 1)
	if m.adapter, err = m.w.NewAdapter(l, m.lora, k); err != nil {
		b.Fatal(err)
	}
	rng := stream(1, "tokens")
	for range 128 {
		ids := make([]int32, 110)
		for i := range ids {
			ids[i] = int32(rng.IntN(c.Vocab))
		}
		m.tokens = append(m.tokens, ids)
	}
	return m
}

// cpuSeconds returns the processor time this process has used.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// report adds tokens per second, by the clock and, for a machine that others use too, by two cores' processor time
// since began; and GFLOP/s in matrix products, without attention, by the latter.
func report(b *testing.B, tokens int, flopsPerToken, began float64) {
	n := float64(tokens) * float64(b.N)
	free := n / ((cpuSeconds() - began) / 2)
	b.ReportMetric(n/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(free, "tokens/s-of-2-free-cores")
	b.ReportMetric(free*flopsPerToken/1e9, "GFLOP/s-of-2-free-cores")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkForward(b *testing.B) {
	for _, bf16 := range []bool{false, true} {
		b.Run(fmt.Sprintf("bf16=%v", bf16), func(b *testing.B) {
			m := newBenchModel(b, bf16)
			seqs := batch(m.w.Config, m.adapter, m.tokens...)
			targets, logp := next(m.tokens...), make([]float32, 128*110)
			began := cpuSeconds()
			for b.Loop() {
				hidden := m.r.Forward(m.w, seqs, nil)
				m.r.Score(m.w, seqs, hidden, Even(targets, 1), logp, nil, nil)
			}
			base, lora := flops(m.w.Config, 32)
			report(b, len(logp), base+lora, began)
		})
	}
}

func BenchmarkTrain(b *testing.B) {
	for _, bf16 := range []bool{false, true} {
		for _, full := range []bool{false, true} {
			b.Run(fmt.Sprintf("bf16=%v/full=%v", bf16, full), func(b *testing.B) {
				m := newBenchModel(b, bf16)
				adapter, trained := m.adapter, m.lora
				base, lora := flops(m.w.Config, 32)
				work := 2*base + 3*lora
				if full {
					adapter, trained, work = nil, m.full, 3*base
				}
				grads, tape := NewGrads(trained), m.r.NewTape(false)
				logp := make([]float32, 32*110)
				began := cpuSeconds()
				for b.Loop() {
					for i := 0; i < 128; i += 32 {
						tokens := m.tokens[i : i+32]
						seqs := batch(m.w.Config, adapter, tokens...)
						hidden := m.r.Forward(m.w, seqs, tape)
						m.r.Score(m.w, seqs, hidden, Even(next(tokens...), 1), logp,
							func(_ int, _, g []float32) { g[0] = -1 }, tape)
						m.r.Backward(m.w, seqs, tape, grads)
					}
				}
				report(b, 128*110, work, began)
			})
		}
	}
}

// BenchmarkDecode takes 128 sequences from position 60 to 110, a token at a time.
func BenchmarkDecode(b *testing.B) {
	for _, bf16 := range []bool{false, true} {
		b.Run(fmt.Sprintf("bf16=%v", bf16), func(b *testing.B) {
			m := newBenchModel(b, bf16)
			seqs := batch(m.w.Config, m.adapter, m.tokens...)
			m.r.Forward(m.w, seqs, nil)
			logits := make([]float32, 128*m.w.Config.Vocab)
			rows := make([]int, 128)
			for i := range rows {
				rows[i] = i
			}
			began := cpuSeconds()
			for b.Loop() {
				for pos := 60; pos < 110; pos++ {
					for i := range seqs {
						seqs[i].Tokens, seqs[i].Pos = m.tokens[i][pos:pos+1], pos
					}
					hidden := m.r.Forward(m.w, seqs, nil)
					m.r.Logits(m.w, seqs, hidden, rows, logits)
				}
			}
			base, lora := flops(m.w.Config, 32)
			report(b, 128*50, base+lora, began)
		})
	}
}
