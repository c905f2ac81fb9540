//go:build unix

package model

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// BenchmarkExperts measures six of the 48 layers of Qwen3-30B-A3B, and its head, in int4, with random weights. The
// bound of one sequence is reading what a token passes through, of several reading everything. It takes 12 GiB.
func BenchmarkExperts(b *testing.B) {
	c := Config{Arch: architectures[len(architectures)-1], Vocab: 151936, Dim: 2048, Layers: 6, Heads: 32, KVHeads: 4,
		HeadDim: 128, FF: 6144, Frozen: Int4, Sparse: []bool{true, true, true, true, true, true}, ExpertFF: 768,
		Experts: nn.Router{Experts: 128, Used: 8, Normed: true}}
	m := newRealModel(b, c)
	all, active := 0.0, 0.0
	for _, f := range tables(c)[1:] {
		all += float64(kernel.QuadBytes(f.rows(), f.in, f.bits))
	}
	active = all
	for i, f := range blockLinears(c, 0) {
		n := float64(c.Layers * kernel.QuadBytes(f.rows(), f.in, 4))
		if all += n; i < 2 {
			active += n
		} else {
			active += n * float64(c.Experts.Used) / float64(c.Experts.Experts)
		}
	}
	for _, tt := range []struct {
		name    string
		adapter *Adapter
		n       int
	}{{"decode1-alone", nil, 1}, {"decode1", m.adapter, 1}, {"decode8", m.adapter, 8}} {
		b.Run(tt.name, func(b *testing.B) {
			of := m
			of.adapter = tt.adapter
			w, f := of.decodeOf(tt.n)
			if w.weights = active; tt.n > 1 {
				w.weights = all
			}
			of.report(b, w, f)
		})
	}
	b.Run("prefill512", func(b *testing.B) { m.prefill(b, 512) })
	b.Run("train512", func(b *testing.B) {
		w, f := m.stepOf(1, 512, true)
		w.weights = 2 * all
		m.report(b, w, f)
		b.ReportMetric(residentGiB(b, m), "GiB-resident")
	})
}
