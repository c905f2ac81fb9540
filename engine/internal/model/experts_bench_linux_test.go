package model

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// BenchmarkExperts measures six of the 48 layers of Qwen3-30B-A3B, and its head, in int4 with random weights, on one
// worker and by processor time as BenchmarkBases does: the median of tokens a second. GB/s is of the weights that a
// token passes through. It takes 12 GiB.
func BenchmarkExperts(b *testing.B) {
	c := Config{Arch: architectures[len(architectures)-1], Vocab: 151936, Dim: 2048, Layers: 6, Heads: 32, KVHeads: 4,
		HeadDim: 128, FF: 6144, Frozen: Int4, Sparse: []bool{true, true, true, true, true, true}, ExpertFF: 768,
		Experts: nn.Router{Experts: 128, Used: 8, Normed: true}}
	m := newRealModel(b, c)
	m.r = runnerOn(b, m.r.K, 1)
	alone := m
	alone.adapter = nil
	for _, tt := range []struct {
		name string
		m    realModel
		of   func(m realModel) (work, func())
	}{
		{"decode1-alone", alone, func(m realModel) (work, func()) { return m.decodeOf(1) }},
		{"decode1", m, func(m realModel) (work, func()) { return m.decodeOf(1) }},
		{"decode8", m, func(m realModel) (work, func()) { return m.decodeOf(8) }},
		{"prefill512", m, func(m realModel) (work, func()) { return m.prefillOf(512) }},
		{"train512", m, func(m realModel) (work, func()) { return m.stepOf(1, 512, true) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			w, f := tt.of(tt.m)
			f()
			var seconds []float64
			for b.Loop() {
				began := processorSeconds(b)
				f()
				seconds = append(seconds, processorSeconds(b)-began)
			}
			rate := float64(w.tokens) / middle(seconds, nil)
			b.ReportMetric(rate, "tokens/s")
			b.ReportMetric(rate*active(c)/1e9, "GB/s")
			b.ReportMetric(rate/float64(w.tokens)*w.flop/1e9, "GFLOP/s")
			b.ReportMetric(residentGiB(b, m), "GiB-resident")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// active is the bytes of the weights that a token passes through, the head included.
func active(c Config) float64 {
	head := tables(c)[1]
	n := float64(kernel.QuadBytes(head.rows(), head.in, head.bits))
	for i, f := range blockLinears(c, 0) {
		part := 1.0
		if i >= 2 {
			part = float64(c.Experts.Used) / float64(c.Experts.Experts)
		}
		if f.bits > 0 {
			n += part * float64(c.Layers*kernel.QuadBytes(f.rows(), f.in, f.bits))
		}
	}
	return n
}
