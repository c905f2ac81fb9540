//go:build unix

package model

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// realShapes are the shapes of models people train, and of small ones. Weights are random.
var realShapes = []struct {
	name string
	c    Config
}{
	{"5M", Config{Vocab: 4096, Dim: 256, Layers: 4, Heads: 8, KVHeads: 4, HeadDim: 32, FF: 1024, Tied: true}},
	{"9M", Config{Vocab: 4096, Dim: 256, Layers: 8, Heads: 8, KVHeads: 4, HeadDim: 32, FF: 1024, Tied: true}},
	{"135M", Config{Vocab: 49152, Dim: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, FF: 1536, Tied: true}},
	{"0.6B", Config{Vocab: 151936, Dim: 1024, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, FF: 3072, Tied: true}},
	{"1B", Config{Vocab: 128256, Dim: 2048, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64, FF: 8192, Tied: true}},
	{"3B", Config{Vocab: 128256, Dim: 3072, Layers: 28, Heads: 24, KVHeads: 8, HeadDim: 128, FF: 8192, Tied: true}},
}

// realModel has the weights of one layer in all layers, each with its own memory, and a LoRA of rank 32 on every
// matrix.
type realModel struct {
	benchModel
	meter      *meter
	body, head float64 // parameters
	loraBody   float64 // parameters of the LoRA, without the head's
	loraHead   float64
}

func newRealModel(b *testing.B, c Config) realModel {
	k, err := kernel.Best(kernel.Native())
	if err != nil {
		b.Fatal(err)
	}
	r := runnerOn(b, k, 2)
	if c.Eps, c.BF16 = 1e-6, true; c.Arch.Name == "" {
		c.Arch = architectures[2]
	}
	c.RoPE = nn.RoPEConfig{Dim: c.HeadDim, Theta: 1e6}
	one := c
	one.Layers = 1
	var full []Tensor
	for _, t := range RandomTensors(one, 1) {
		full = append(full, t)
		name := t.Name
		for l := 1; l < c.Layers && strings.Contains(name, "layers.0."); l++ {
			t.Name = strings.Replace(name, "layers.0.", fmt.Sprintf("layers.%d.", l), 1)
			full = append(full, t)
		}
	}
	m := realModel{benchModel: benchModel{r: r}}
	if m.w, err = NewWeights(c, full, alone(k)); err != nil {
		b.Fatal(err)
	}
	l := LoRA{Rank: 32, Alpha: 32, Attn: true, MLP: true, Unembed: true}
	m.lora = m.w.NewLoRA(l, 1)
	if m.adapter, err = m.w.NewAdapter(l, m.lora, k); err != nil {
		b.Fatal(err)
	}
	if m.meter, err = newMeter(nn.Compute{K: k, P: r.P}, sweepBytes); err != nil {
		b.Fatal(err)
	}
	base, low := flops(c, l.Rank)
	m.head, m.loraHead = float64(c.Dim*c.Vocab), float64(l.Rank*(c.Dim+c.Vocab))
	m.body, m.loraBody = base/2-m.head, low/2-m.loraHead
	return m
}

// attention is the operations of one of attention's products in all layers for n rows, of which each reads so many
// positions.
func (m realModel) attention(n int, positions float64) float64 {
	c := m.w.Config
	return 2 * float64(n) * positions * float64(c.Layers*c.QDim())
}

// random returns n sequences of that many tokens.
func (m realModel) random(n, length int) [][]int32 {
	rng := stream(1, "tokens")
	var all [][]int32
	for range n {
		ids := make([]int32, length)
		for i := range ids {
			ids[i] = int32(rng.IntN(m.w.Config.Vocab))
		}
		all = append(all, ids)
	}
	return all
}

// BenchmarkReal measures training, decoding and prefill of real shapes beside the bounds of the same run. It
// takes an hour and up to 12 GiB.
func BenchmarkReal(b *testing.B) {
	for _, s := range realShapes {
		b.Run(s.name, func(b *testing.B) {
			m := newRealModel(b, s.c)
			b.Run("train512", func(b *testing.B) { m.train(b, 1, 512) })
			b.Run("train16x32", func(b *testing.B) { m.train(b, 16, 32) })
			b.Run("train2048", func(b *testing.B) { m.train(b, 4, 512) })
			b.Run("decode1", func(b *testing.B) { m.decode(b, 1) })
			b.Run("decode64", func(b *testing.B) { m.decode(b, 64) })
			b.Run("prefill512", func(b *testing.B) { m.prefill(b, 512) })
			b.Run("recompute2048", m.recompute)
		})
	}
}

// work is the work of a row in a round.
type work struct {
	tokens    int
	flop      float64 // in all products: of the weights, of LoRA and of attention
	weights   float64 // bytes of weights read
	kv        float64 // bytes of keys and values read
	bandwidth bool    // its bound is reading the weights, not arithmetic
}

// bound is the least seconds of w by the bound of the row.
func (w work) bound(r roof) float64 {
	if w.bandwidth {
		return r.Seconds(0, w.weights)
	}
	return r.Seconds(w.flop, 0)
}

// report times f, each round between two samples of the roof, and prints medians: the rate, its share of the row's
// bound and of the roofline (the longer of arithmetic and reading), and the roof itself.
func (m realModel) report(b *testing.B, w work, f func()) {
	var rounds []round
	for b.Loop() {
		rounds = append(rounds, m.meter.Time(f))
	}
	for unit, of := range map[string]func(r round) float64{
		"tokens/s": func(r round) float64 { return float64(w.tokens) / r.Seconds },
		"%bound":   func(r round) float64 { return 100 * w.bound(r.roof) / r.Seconds },
		"%roof": func(r round) float64 {
			return 100 * r.roof.Seconds(w.flop,
				w.weights+w.kv) / r.Seconds
		},
		"%f32":         func(r round) float64 { return 100 * w.flop / (r.roof.FMA * 1e9) / r.Seconds },
		"GFLOP/s-bf16": func(r round) float64 { return r.roof.BF16 },
		"GFLOP/s-f32":  func(r round) float64 { return r.roof.FMA },
		"GB/s":         func(r round) float64 { return r.roof.Bandwidth },
	} {
		b.ReportMetric(medianOf(rounds, of), unit)
	}
	b.ReportMetric(0, "ns/op")
}

// all is the bytes of all weights.
func (m realModel) all() float64 { return 2 * (m.body + m.head) }

// train computes forward and backward of n sequences: 4 operations a parameter and token, 6 a parameter of the LoRA, 2
// products of attention forward and 4 backward, and reads the weights twice.
func (m realModel) train(b *testing.B, n, length int) { m.step(b, n, length, false) }

// recompute is a step of 2,048 tokens that keeps only the layers' inputs. It reports the memory of the process at its
// end, without the meter's.
func (m realModel) recompute(b *testing.B) {
	runtime.GC()
	debug.FreeOSMemory()
	m.step(b, 4, 512, true)
	b.ReportMetric(residentGiB(b, m), "GiB-resident")
}

// residentGiB is the memory of the process without the meter's.
func residentGiB(b *testing.B, m realModel) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			return (kib - float64(4*len(m.meter.area)>>10)) / (1 << 20)
		}
	}
	return 0
}

func (m realModel) step(b *testing.B, n, length int, recompute bool) {
	w, f := m.stepOf(n, length, recompute)
	m.report(b, w, f)
}

func (m realModel) stepOf(n, length int, recompute bool) (work, func()) {
	tokens := m.random(n, length)
	grads, tape := NewGrads(m.lora), m.r.NewTape(recompute)
	logp, targets := make([]float32, n*length), next(tokens...)
	w := work{tokens: n * length, weights: 2 * m.all(),
		flop: float64(n*length)*(4*(m.body+m.head)+6*(m.loraBody+m.loraHead)) +
			6*m.attention(n*length, float64(length+1)/2)}
	return w, func() {
		seqs := batch(m.w.Config, m.adapter, tokens...)
		hidden := m.r.Forward(m.w, seqs, tape)
		m.r.Score(m.w, seqs, hidden, Even(targets, 1), logp, func(_ int, _, g []float32) { g[0] = -1 }, tape)
		m.r.Backward(m.w, seqs, tape, grads)
	}
}

// decode draws one token for n sequences in a context of 256. One sequence is bound by reading the weights, many by
// arithmetic. For each row of logits it computes the log-sum-exp and the probabilities, as the engine does. The
// context is computed once and copied, so that every sequence reads its own.
func (m realModel) decode(b *testing.B, n int) {
	w, f := m.decodeOf(n)
	m.report(b, w, f)
}

func (m realModel) decodeOf(n int) (work, func()) {
	const context = 256
	c := m.w.Config
	tokens := m.random(n, context+1)
	seqs := batch(c, m.adapter, tokens...)
	rows := make([]int, n)
	for i := range seqs {
		rows[i] = i
		seqs[i].Tokens = tokens[i][:context]
	}
	m.r.Forward(m.w, seqs[:1], nil)
	for i := range seqs {
		for j, page := range seqs[0].Pages {
			copy(seqs[i].Pages[j].Data, page.Data)
		}
		seqs[i].Tokens, seqs[i].Pos = tokens[i][context:], context
	}
	logits := make([]float32, n*c.Vocab)
	w := work{tokens: n, weights: m.all(),
		flop: 2*float64(n)*(m.body+m.head+m.loraBody+m.loraHead) + 2*m.attention(n, context+1),
		kv:   2 * float64(n*context*2*c.KVDim()*c.Layers), bandwidth: n == 1}
	return w, func() {
		hidden := m.r.Forward(m.w, seqs, nil)
		m.r.Logits(m.w, seqs, hidden, rows, logits)
		m.r.P.Run(n, func(i int, _ *kernel.Scratch) {
			row := logits[i*c.Vocab:][:c.Vocab]
			m.r.K.LogSumExp(row)
			m.r.K.ExpSum(row, row, m.r.K.Max(row))
		})
	}
}

// prefill computes a prompt without LoRA and the logits of its last row.
func (m realModel) prefill(b *testing.B, length int) {
	w, f := m.prefillOf(length)
	m.report(b, w, f)
}

func (m realModel) prefillOf(length int) (work, func()) {
	tokens := m.random(1, length)
	logits := make([]float32, m.w.Config.Vocab)
	w := work{tokens: length, weights: m.all(),
		flop: 2*float64(length)*m.body + 2*m.head + 2*m.attention(length, float64(length+1)/2)}
	return w, func() {
		seqs := batch(m.w.Config, nil, tokens...)
		hidden := m.r.Forward(m.w, seqs, nil)
		m.r.Logits(m.w, seqs, hidden, []int{length - 1}, logits)
	}
}
