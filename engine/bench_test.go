package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// benchEngine serves a model of the shape of examples/tiny.
func benchEngine(b *testing.B) *Engine {
	dir := writeShape(b, true, true, map[string]any{"vocab_size": 1024, "hidden_size": 128, "num_hidden_layers": 4,
		"num_attention_heads": 4,
		"num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 384, "max_position_embeddings": 512}, 4)
	e := open(b, Options{Models: map[string]Model{baseName: {Dir: dir}}})
	b.Logf("kernel %s, %d threads", e.Kernel(), e.opts.Threads)
	return e
}

// shapeParams is the number of weights of benchEngine's model that a token is multiplied with, the tied head included.
const shapeParams = 4*(128*128*2+128*64*2+3*128*384) + 1024*128

// round is a timed piece of work and the peak of the arithmetic units at that time, GFLOP/s.
type round struct{ seconds, peak float64 }

// roundsOf times f beside the peak, which a pool of its own measures: the engine's sleeps between requests.
func roundsOf(b *testing.B, e *Engine, f func()) (rounds []round) {
	p := kernel.NewPool(e.opts.Threads)
	defer p.Close()
	on := nn.Compute{K: e.compute.K, P: p}
	for b.Loop() {
		_, before := on.Peaks(30 * time.Millisecond)
		seconds := 1 / (1e9 * nn.Rate(200*time.Millisecond, 1, f))
		_, after := on.Peaks(30 * time.Millisecond)
		rounds = append(rounds, round{seconds, (before + after) / 2})
	}
	return rounds
}

// report prints medians of rounds of that many tokens: the rate, its share of what the arithmetic units allow, peak /
// (flops per token and weight × weights), and the peak.
func report(b *testing.B, rounds []round, tokens, flops float64) {
	for unit, of := range map[string]func(round) float64{
		"tokens/s": func(r round) float64 { return tokens / r.seconds },
		"%peak": func(r round) float64 {
			return 100 * tokens * flops * shapeParams / (r.peak * 1e9) / r.seconds
		},
		"GFLOP/s-peak": func(r round) float64 { return r.peak },
	} {
		var all []float64
		for _, r := range rounds {
			all = append(all, of(r))
		}
		slices.Sort(all)
		b.ReportMetric((all[(len(all)-1)/2]+all[len(all)/2])/2, unit)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSample draws 16 groups of 8 samples of 50 tokens with an adapter of rank 32, as one step of the pilot does.
func BenchmarkSample(b *testing.B) {
	e := benchEngine(b)
	c := create(b, e, 0, lora(32))
	train(b, c, 1, tokens(1, 100))
	s := samplerOf(b, e, c, "w")
	n, calls, seed := 0, 0, uint64(0)
	rounds := roundsOf(b, e, func() {
		calls++
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
	})
	report(b, rounds, float64(n)/float64(calls), 2)
}

// BenchmarkTrain does one step on 128 sequences of 150 tokens.
func BenchmarkTrain(b *testing.B) {
	e := benchEngine(b)
	for _, kind := range []struct {
		name  string
		rank  int
		flops float64 // per token and weight
	}{{"LoRA", 32, 4}, {"full", 0, 6}} {
		b.Run(kind.name, func(b *testing.B) {
			c := create(b, e, int64(kind.rank), lora(kind.rank))
			var seqs [][]int32
			for i := range 128 {
				seqs = append(seqs, slices.Clone(tokens(i, 150)))
			}
			report(b, roundsOf(b, e, func() { train(b, c, 1, seqs...) }), 128*149, kind.flops)
		})
	}
}

// BenchmarkGroup asks for one token of one sample and, in turn, of a group of 8, each over a new prompt of 512 tokens.
// It prints the ratio of the median times: how many prefills a group takes.
func BenchmarkGroup(b *testing.B) {
	dir := writeShape(b, true, true, map[string]any{"vocab_size": 4096, "hidden_size": 512, "num_hidden_layers": 4,
		"num_attention_heads": 8,
		"num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 1536, "max_position_embeddings": 1024}, 2)
	e := open(b, Options{Models: map[string]Model{baseName: {Dir: dir}}})
	s := samplerOf(b, e, create(b, e, 0, lora(8)), "w")
	var seconds [2][]float64
	seed := uint64(0)
	for b.Loop() {
		for i, n := range []int{1, 8} {
			seed++
			start := time.Now()
			f, err := s.Sample(testContext(b), sampleRequest(n, 1, seed, tokens(int(seed), 512)))
			value(b, f, err)
			seconds[i] = append(seconds[i], time.Since(start).Seconds())
		}
	}
	for i := range seconds {
		slices.Sort(seconds[i])
	}
	b.ReportMetric(seconds[1][len(seconds[1])/2]/seconds[0][len(seconds[0])/2], "prefills")
}

// BenchmarkTrainShared trains 64 adapters of rank 4 to 16 on a sequence of 128 tokens each, as many clients do, and in
// turn one adapter on the same 64 sequences. It prints the median rate of each and their ratio.
func BenchmarkTrainShared(b *testing.B) {
	const n = 64
	dir := writeShape(b, true, true, map[string]any{"vocab_size": 1024, "hidden_size": 512, "num_hidden_layers": 4,
		"num_attention_heads": 8,
		"num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 1536, "max_position_embeddings": 512}, 2)
	e := open(b, Options{Models: map[string]Model{baseName: {Dir: dir}}})
	one := create(b, e, n, lora(10))
	var many []tinker.TrainingClient
	var seqs [][]int32
	for i := range n {
		many = append(many, create(b, e, int64(i), lora(4+i%13)))
		seqs = append(seqs, tokens(i, 129))
	}
	var alone, shared []float64 // seconds
	round := func() {
		start := time.Now()
		f, err := one.ForwardBackward(testContext(b), batch(seqs...))
		value(b, f, err)
		alone = append(alone, time.Since(start).Seconds())
		start = time.Now()
		var futures []*tinker.Future[tinker.ForwardOutput]
		for i, c := range many {
			f, err := c.ForwardBackward(testContext(b), batch(seqs[i]))
			if err != nil {
				b.Fatal(err)
			}
			futures = append(futures, f)
		}
		for _, f := range futures {
			value(b, f, nil)
		}
		shared = append(shared, time.Since(start).Seconds())
	}
	round() // the memory is there from now on
	alone, shared = nil, nil
	before := e.Stats()
	for b.Loop() {
		round()
	}
	slices.Sort(alone)
	slices.Sort(shared)
	a, s := alone[len(alone)/2], shared[len(shared)/2]
	b.ReportMetric(n*128/a, "tokens/s-one")
	b.ReportMetric(n*128/s, "tokens/s-shared")
	b.ReportMetric(100*a/s, "%of-one")
	after := e.Stats()
	b.ReportMetric(float64(after.PassModels-before.PassModels)/float64(after.Passes-before.Passes), "models/pass")
}
