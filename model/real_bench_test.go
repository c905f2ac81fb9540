//go:build unix

package model

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/nn"
)

var benchReal = flag.Bool("real", false, "benchmark the shapes of real models, which takes some minutes and up to 12 GiB")

// realShapes are the shapes of models people train, and of small ones. Weights are random.
var realShapes = []struct {
	name string
	c    Config
}{
	{"5M", Config{Vocab: 4096, Dim: 256, Layers: 4, Heads: 8, KVHeads: 4, HeadDim: 32, FF: 1024, Tied: true}},
	{"9M", Config{Vocab: 4096, Dim: 256, Layers: 8, Heads: 8, KVHeads: 4, HeadDim: 32, FF: 1024, Tied: true}},
	{"0.6B", Config{Vocab: 151936, Dim: 1024, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, FF: 3072, Tied: true}},
	{"1B", Config{Vocab: 128256, Dim: 2048, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64, FF: 8192, Tied: true}},
	{"3B", Config{Vocab: 128256, Dim: 3072, Layers: 28, Heads: 24, KVHeads: 8, HeadDim: 128, FF: 8192, Tied: true}},
}

// realModel has the weights of one layer in all of them, each with memory of its own, and a LoRA of rank 32 on every matrix.
type realModel struct {
	benchModel
	roof       kernel.Roof
	body, head float64 // parameters
}

func newRealModel(b *testing.B, c Config) realModel {
	r, k := newRunner(b, 2)
	c.Arch, c.Eps, c.BF16 = architectures[2], 1e-6, true
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
	var err error
	if m.w, err = NewWeights(c, full, alone(k)); err != nil {
		b.Fatal(err)
	}
	l := LoRA{Rank: 32, Alpha: 32, Attn: true, MLP: true, Unembed: true}
	m.lora = m.w.NewLoRA(l, 1)
	if m.adapter, err = m.w.NewAdapter(l, m.lora, k); err != nil {
		b.Fatal(err)
	}
	m.roof = kernel.MeasureRoof(r.K, r.P)
	base, _ := flops(c, 0)
	m.head = float64(c.Dim * c.Vocab)
	m.body = base/2 - m.head
	return m
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

// share reports the rate of tokens a round and its part of what the bound allows, units a token.
func (m realModel) share(b *testing.B, tokens int, bound, units float64) {
	rate := float64(tokens) * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "tokens/s")
	b.ReportMetric(100*rate*units/(bound*1e9), "%bound")
	b.ReportMetric(m.roof.BF16, "GFLOP/s-bf16")
	b.ReportMetric(m.roof.Bandwidth, "GB/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReal measures training, decoding and prefill of real shapes beside the bounds of the same run.
func BenchmarkReal(b *testing.B) {
	if !*benchReal {
		b.Skip("without -real")
	}
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

// train computes forward and backward of n sequences; the bound is 4 operations a parameter and token.
func (m realModel) train(b *testing.B, n, length int) { m.step(b, n, length, false) }

// recompute is a step of 2,048 tokens that keeps the layers' inputs only. It reports the memory the process has at its end.
func (m realModel) recompute(b *testing.B) {
	runtime.GC()
	debug.FreeOSMemory()
	m.step(b, 4, 512, true)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			b.ReportMetric(kib/(1<<20), "GiB-resident")
		}
	}
}

func (m realModel) step(b *testing.B, n, length int, recompute bool) {
	tokens := m.random(n, length)
	grads, tape := NewGrads(m.lora), m.r.NewTape(recompute)
	logp, targets := make([]float32, n*length), next(tokens...)
	for b.Loop() {
		seqs := batch(m.w.Config, m.adapter, tokens...)
		hidden := m.r.Forward(m.w, seqs, tape)
		m.r.Score(m.w, seqs, hidden, targets, 1, logp, func(_ int, _, g []float32) { g[0] = -1 }, tape)
		m.r.Backward(m.w, seqs, tape, grads)
	}
	m.share(b, n*length, m.roof.BF16, 4*(m.body+m.head))
}

// decode draws one token for n sequences in a context of 256. One sequence is bound by reading the weights, many by arithmetic.
func (m realModel) decode(b *testing.B, n int) {
	const context = 256
	tokens := m.random(n, context+1)
	seqs := batch(m.w.Config, m.adapter, tokens...)
	rows := make([]int, n)
	for i := range seqs {
		rows[i] = i
		seqs[i].Tokens = tokens[i][:context]
	}
	for i := 0; i < n; i += 8 {
		m.r.Forward(m.w, seqs[i:min(i+8, n)], nil)
	}
	for i := range seqs {
		seqs[i].Tokens, seqs[i].Pos = tokens[i][context:], context
	}
	logits := make([]float32, n*m.w.Config.Vocab)
	for b.Loop() {
		hidden := m.r.Forward(m.w, seqs, nil)
		m.r.Logits(m.w, seqs, hidden, rows, logits)
		for i := range rows {
			m.r.K.LogSumExp(logits[i*m.w.Config.Vocab:][:m.w.Config.Vocab])
		}
	}
	if n == 1 {
		m.share(b, n, m.roof.Bandwidth, 2*(m.body+m.head))
		return
	}
	m.share(b, n, m.roof.BF16, 2*(m.body+m.head))
}

// prefill computes a prompt without LoRA and the logits of its last row.
func (m realModel) prefill(b *testing.B, length int) {
	tokens := m.random(1, length)
	logits := make([]float32, m.w.Config.Vocab)
	for b.Loop() {
		seqs := batch(m.w.Config, nil, tokens...)
		hidden := m.r.Forward(m.w, seqs, nil)
		m.r.Logits(m.w, seqs, hidden, []int{length - 1}, logits)
	}
	m.share(b, length, m.roof.BF16, 2*m.body)
}
