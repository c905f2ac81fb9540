package model

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkBases measures Qwen3-0.6B's shape with weights in bf16, int8 and int4 on one worker, in turns, by processor
// time, which other work on the machine disturbs less than the clock: the medians of tokens a second, and of the ratios
// to bf16 in the same turn. -benchtime 20x are 20 turns. It takes 7 GiB.
func BenchmarkBases(b *testing.B) {
	names := []string{"bf16", Int8, Int4}
	var models []realModel
	for _, frozen := range []string{"", Int8, Int4} {
		c := realShapes[3].c
		c.Frozen = frozen
		m := newRealModel(b, c)
		m.r = runnerOn(b, m.r.K, 1)
		models = append(models, m)
	}
	for _, tt := range []struct {
		name string
		of   func(m realModel) (work, func())
	}{
		{"decode1-alone", func(m realModel) (work, func()) { m.adapter = nil; return m.decodeOf(1) }},
		{"decode1", func(m realModel) (work, func()) { return m.decodeOf(1) }},
		{"decode8", func(m realModel) (work, func()) { return m.decodeOf(8) }},
		{"decode64", func(m realModel) (work, func()) { return m.decodeOf(64) }},
		{"prefill512", func(m realModel) (work, func()) { return m.prefillOf(512) }},
		{"train512", func(m realModel) (work, func()) { return m.stepOf(1, 512, false) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			var turn []func()
			tokens := 0
			for _, m := range models {
				w, f := tt.of(m)
				tokens, turn = w.tokens, append(turn, f)
				f()
			}
			seconds := make([][]float64, len(models))
			for b.Loop() {
				for i, f := range turn {
					began := processorSeconds(b)
					f()
					seconds[i] = append(seconds[i], processorSeconds(b)-began)
				}
			}
			for i, name := range names {
				b.ReportMetric(float64(tokens)/middle(seconds[i], nil), name+"-tokens/s")
				b.ReportMetric(1/middle(seconds[i], seconds[0]), name+"/bf16")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorSeconds is what cpuSeconds returns, more precisely.
func processorSeconds(b *testing.B) float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return float64(t.Nano()) / 1e9
}

// middle returns the median of x or, with y, of x[i]/y[i].
func middle(x, y []float64) float64 {
	x = slices.Clone(x)
	for i := range y {
		x[i] /= y[i]
	}
	slices.Sort(x)
	return x[len(x)/2]
}
