package engine

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trainingKind is a way to train.
type trainingKind struct {
	name       string
	bf16, tied bool
	rank       int
	base       string // Options.BaseDtype

	write func(t testing.TB, bf16, tied bool) (dir string) // nil is writeModel
}

// model makes a folder of a small model.
func (k trainingKind) model(t testing.TB) string {
	if k.write != nil {
		return k.write(t, k.bf16, k.tied)
	}
	return writeModel(t, k.bf16, k.tied)
}

// kinds are the ways to train.
var kinds = []trainingKind{
	{name: "bf16 LoRA", bf16: true, tied: true, rank: 8}, {name: "f32 LoRA", rank: 3},
	{name: "bf16 full", bf16: true, tied: true}, {name: "f32 full"},
	{name: "int8 LoRA", bf16: true, tied: true, rank: 8, base: BaseInt8},
	{name: "int8 LoRA of f32", rank: 3, base: BaseInt8},
	{name: "int4 LoRA", bf16: true, tied: true, rank: 8, base: BaseInt4},
	{name: "delta rules, LoRA", bf16: true, tied: true, rank: 8, write: writeDelta},
	{name: "delta rules, full", bf16: true, write: writeDelta},
	{name: "delta rules, int8 LoRA", bf16: true, tied: true, rank: 8, write: writeDelta, base: BaseInt8},
	{name: "convolutions, LoRA", bf16: true, tied: true, rank: 8, write: writeConv},
	{name: "convolutions, full", bf16: true, write: writeConv},
	{name: "experts, LoRA", bf16: true, tied: true, rank: 8, write: writeExperts},
	{name: "experts, full", bf16: true, write: writeExperts},
	{name: "sinks, LoRA", bf16: true, rank: 8, write: writeSinks},
	{name: "sinks, int8 LoRA", bf16: true, rank: 8, write: writeSinks, base: BaseInt8},
}

// A token has the same logprob to the last bit when it is sampled, scored as a prompt, forwarded or trained on.
func TestSampledIsTrained(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			e := open(t, Options{BaseDtype: k.base,
				Models: map[string]Model{baseName: {Dir: k.model(t)}}})
			c := create(t, e, 0, lora(k.rank))
			for step := range 2 {
				s := samplerOf(t, e, c, fmt.Sprint(step))
				var seqs [][]int32
				var want [][]float32
				for i, prompt := range mixed {
					for _, q := range draw(t, s, sampleRequest(2, 40, uint64(step*10+i),
						prompt[:len(prompt)*2/3+1])).Sequences {
						seqs = append(seqs, slices.Concat(prompt[:len(prompt)*2/3+1], q.Tokens))
						want = append(want, q.Logprobs)
					}
				}
				f, err := c.ForwardBackward(testContext(t), batch(seqs...))
				trained, forwarded := logprobsOf(value(t, f, err)), logprobs(t, c, seqs...)
				for i := range seqs {
					n := len(trained[i]) - len(want[i])
					if !sameBits(trained[i][n:], want[i]) || !sameBits(forwarded[i], trained[i]) {
						t.Fatalf("step %d sequence %d: sampled %v, trained %v", step, i, want[i], trained[i][n:])
					}
					scored, err := tinker.ComputeLogprobs(testContext(t), s, tinker.Text(seqs[i]))
					if err != nil || !sameBits(scored[1:], trained[i]) {
						t.Fatalf("step %d sequence %d: scored as a prompt %v, trained %v, %v", step, i, scored[1:],
							trained[i], err)
					}
				}
				train(t, c, 2, seqs[0], seqs[7])
			}
		})
	}
}

// history runs every kind of training request and returns all results, and the logprobs after them.
func history(t *testing.T, e *Engine, c tinker.TrainingClient) [][]float32 {
	train(t, c, 2, mixed...)
	f, err := c.ForwardBackward(testContext(t), batch(mixed[1:]...))
	all := logprobsOf(value(t, f, err))
	o, err := c.OptimStep(testContext(t), adam(3e-2))
	all = append(all, []float32{float32(value(t, o, err).Metrics["grad_norm"])})
	s := samplerOf(t, e, c, "history")
	for _, q := range draw(t, s, sampleRequest(4, 30, 3, mixed[0])).Sequences {
		all = append(all, q.Logprobs)
	}
	return append(all, logprobs(t, c, mixed...)...)
}

// Threads, micro-batches, recomputation, the room for pages and the number of samples at a time change no bit: alone
// for one kind of training, together for all. TestGoldenBits compares the kernels.
func TestSettingsChangeNoBit(t *testing.T) {
	for i, k := range kinds {
		dir := k.model(t)
		var want [][]float32
		settings := []Options{{Threads: 2}, {Threads: 1, MicroBatch: 64, TapeBytes: 1 << 20},
			{Threads: 3, MicroBatch: 1, TapeBytes: 1, CacheBytes: 1, MaxSequences: 1}}
		if i == 0 {
			settings = []Options{{Threads: 2}, {Threads: 1}, {Threads: 3}, {MicroBatch: 1}, {MicroBatch: 64},
				{TapeBytes: 1}, {TapeBytes: 1 << 20}, {CacheBytes: 1}, {MaxSequences: 1}}
		}
		for _, o := range settings {
			name := fmt.Sprintf("%s threads %d micro %d tape %d cache %d sequences %d", k.name, o.Threads,
				o.MicroBatch, o.TapeBytes, o.CacheBytes, o.MaxSequences)
			o.Models, o.BaseDtype = map[string]Model{baseName: {Dir: dir}}, k.base
			e := open(t, o)
			got := history(t, e, create(t, e, 0, lora(k.rank)))
			if want == nil {
				want = got
			}
			if !allSame(got, want) {
				t.Errorf("%s: other bits", name)
			}
		}
	}
}

// A forward between two requests adds nothing to the gradient.
func TestForwardAddsNoGradient(t *testing.T) {
	for _, k := range kinds {
		e := open(t, Options{BaseDtype: k.base,
			Models: map[string]Model{baseName: {Dir: k.model(t)}}})
		plain, mixedIn := create(t, e, 0, lora(k.rank)), create(t, e, 1, lora(k.rank))
		train(t, plain, 1, mixed...)
		train(t, mixedIn, 1, mixed...)
		for _, s := range mixed {
			for _, c := range []tinker.TrainingClient{plain, mixedIn} {
				f, err := c.ForwardBackward(testContext(t), batch(s))
				value(t, f, err)
			}
			logprobs(t, mixedIn, mixed[2])
		}
		a, b := plain.(*training.Run).Grads.Accumulators(), mixedIn.(*training.Run).Grads.Accumulators()
		if !allSame(a, b) || slices.Max(a[0]) == 0 {
			t.Errorf("%s: the gradients differ", k.name)
		}
	}
}

// A run that continues from a loaded state, a model created from it, or a snapshot in another engine has the bits of
// the run that never stopped.
func TestContinuedRunsAreTheSame(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			models, dir := map[string]Model{baseName: {Dir: k.model(t)}}, t.TempDir()
			e := open(t, Options{Models: models, BaseDtype: k.base, Dir: dir})
			c := create(t, e, 0, lora(k.rank))
			train(t, c, 3, mixed...)
			f, err := c.SaveState(testContext(t), tinker.SaveRequest{Name: "here"})
			path := value(t, f, err).Path
			half, err := c.ForwardBackward(testContext(t), batch(mixed[:2]...)) // a gradient is gathered
			value(t, half, err)
			var snapshot bytes.Buffer
			if n, err := e.Snapshot(testContext(t), "s:train:0", &snapshot); err != nil || n != 8 {
				t.Fatalf("snapshot at %d: %v", n, err)
			}
			finish := func(c tinker.TrainingClient) [][]float32 {
				train(t, c, 2, mixed[2:]...)
				return logprobs(t, c, mixed...)
			}
			want := finish(c)

			other := open(t, Options{Models: models, BaseDtype: k.base, Dir: dir, Threads: 2})
			id, applied, err := other.Restore(testContext(t), &snapshot)
			if err != nil || id != "s:train:0" || applied != 8 {
				t.Fatalf("restored %s at %d: %v", id, applied, err)
			}
			restored, err := other.OpenModel(testContext(t), id)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := restored.Info(testContext(t)); err != nil || info.NextSeqID != 9 || *info.LoRA.Seed != 5 {
				t.Errorf("restored: %+v, %v", info, err)
			}
			if got := finish(restored); !allSame(got, want) {
				t.Error("restored from a snapshot: other bits")
			}
			made, err := other.CreateModelFromState(testContext(t),
				tinker.CreateFromStateRequest{SessionID: "t", Path: path, Optimizer: true})
			if err != nil {
				t.Fatal(err)
			}
			l, err := c.LoadState(testContext(t), tinker.LoadRequest{Path: path, Optimizer: true})
			value(t, l, err)
			for name, c := range map[string]tinker.TrainingClient{"created from the state": made, "loaded": c} {
				half, err := c.ForwardBackward(testContext(t), batch(mixed[:2]...))
				value(t, half, err)
				if got := finish(c); !allSame(got, want) {
					t.Errorf("%s: other bits", name)
				}
			}
			l, err = c.LoadState(testContext(t), tinker.LoadRequest{Path: path})
			value(t, l, err)
			half, err = c.ForwardBackward(testContext(t), batch(mixed[:2]...))
			value(t, half, err)
			if got := finish(c); allSame(got, want) {
				t.Error("loading without the optimizer restored it")
			}
		})
	}
}

// Sampler weights read from the disk are those that were saved.
func TestSamplerFromDisk(t *testing.T) {
	for _, k := range kinds {
		models, dir := map[string]Model{baseName: {Dir: k.model(t)}}, t.TempDir()
		e := open(t, Options{Models: models, BaseDtype: k.base, Dir: dir})
		c := create(t, e, 0, lora(k.rank))
		train(t, c, 2, mixed...)
		r := sampleRequest(2, 30, 1, mixed[0])
		want := draw(t, samplerOf(t, e, c, "w"), r)
		fresh := open(t, Options{Models: models, BaseDtype: k.base, Dir: dir})
		s, err := fresh.SamplingClient(testContext(t),
			tinker.SamplingClientRequest{ModelPath: "tinker://s:train:0/sampler_weights/w"})
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range draw(t, s, r).Sequences {
			if !slices.Equal(q.Tokens, want.Sequences[i].Tokens) || !sameBits(q.Logprobs, want.Sequences[i].Logprobs) {
				t.Errorf("%s: sample %d differs", k.name, i)
			}
		}
	}
}

// One flipped bit of an adapter (the lowest that bf16 keeps) and a stale version change the logprobs.
func TestOtherWeightsAreSeen(t *testing.T) {
	e := open(t, Options{})
	c := create(t, e, 0, lora(4))
	train(t, c, 3, mixed...)
	stale := samplerOf(t, e, c, "stale")
	want := logprobs(t, c, mixed...)
	q := draw(t, stale, sampleRequest(1, 30, 1, mixed[0])).Sequences[0]
	r := c.(*training.Run)
	v := &r.Params[1].Data[3]
	*v = math.Float32frombits(math.Float32bits(*v) ^ 1<<16)
	repack(t, e, r)
	if got := logprobs(t, c, mixed...); allSame(got, want) {
		t.Error("a flipped bit of the adapter changed no logprob")
	}
	*v = math.Float32frombits(math.Float32bits(*v) ^ 1<<16)
	train(t, c, 1, mixed...)
	seq := slices.Concat(mixed[0], q.Tokens)
	if got := logprobs(t, c, seq)[0]; sameBits(got[len(mixed[0])-1:], q.Logprobs) {
		t.Error("logprobs of a stale sampler were taken for the present ones")
	}
}
