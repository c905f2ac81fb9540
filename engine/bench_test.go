package engine

import (
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// benchEngine serves a model of the shape of examples/tiny.
func benchEngine(b *testing.B) *Engine {
	dir := writeShape(b, true, true, map[string]any{"vocab_size": 1024, "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4,
		"num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 384, "max_position_embeddings": 512}, 4)
	e := open(b, Options{Models: map[string]Model{baseName: {Dir: dir}}})
	b.Logf("kernel %s, %d threads", e.Kernel(), e.opts.Threads)
	return e
}

// BenchmarkSample draws 16 groups of 8 samples of 50 tokens with an adapter of rank 32, as one step of the pilot does.
func BenchmarkSample(b *testing.B) {
	e := benchEngine(b)
	c := create(b, e, 0, lora(32))
	train(b, c, 1, tokens(1, 100))
	s := sampler(b, e, c, "w")
	n, seed := 0, uint64(0)
	for b.Loop() {
		var futures []*tinker.Future[tinker.SampleResponse]
		for i := range 16 {
			seed++
			f, err := s.Sample(testContext(b), sampleRequest(8, 50, seed, tokens(int(seed)+i, 100)))
			if err != nil {
				b.Fatal(err)
			}
			futures = append(futures, f)
		}
		for _, f := range futures {
			for _, q := range value(b, f, nil).Sequences {
				n += len(q.Tokens)
			}
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkTrain does one step on 128 sequences of 150 tokens.
func BenchmarkTrain(b *testing.B) {
	e := benchEngine(b)
	for name, rank := range map[string]int{"LoRA": 32, "full": 0} {
		b.Run(name, func(b *testing.B) {
			c := create(b, e, int64(rank), lora(rank))
			var seqs [][]int32
			for i := range 128 {
				seqs = append(seqs, slices.Clone(tokens(i, 150)))
			}
			n := 0
			for b.Loop() {
				train(b, c, 1, seqs...)
				n += 128 * 149
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
