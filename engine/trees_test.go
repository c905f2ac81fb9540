package engine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// alike are sequences with common beginnings: answers to two prompts, turns of an episode, and equal ones.
func alike() [][]int32 {
	prompt, other := tokens(1, 50), tokens(2, 70)
	with := func(a []int32, seed, n int) []int32 { return append(slices.Clone(a), tokens(seed, n)...) }
	turn := with(other, 7, 33)
	return [][]int32{with(prompt, 3, 20), with(prompt, 4, 31), turn, with(prompt, 3, 20), with(turn, 8, 40),
		with(other, 7, 12), tokens(9, 64), with(with(turn, 8, 40), 10, 5)}
}

// The datums of a request share what they have in common, and the gradient has the same bits whatever the threads, the
// micro-batches and the memory. It is the one that datums have apart, but for rounding.
func TestTreesChangeNoBit(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			models := map[string]Model{baseName: {Dir: k.model(t)}}
			want := gradientOf(t, Options{Models: models, BaseDtype: k.base, Threads: 1}, 8192, k.rank, alike())
			for _, o := range []Options{{Threads: 2, MicroBatch: 48}, {Threads: 3, MicroBatch: 1, TapeBytes: 1}} {
				o.Models, o.BaseDtype = models, k.base
				if !allSame(gradientOf(t, o, 8192, k.rank, alike()), want) {
					t.Errorf("%d threads, micro-batches of %d: other bits", o.Threads, o.MicroBatch)
				}
			}
			o := Options{Models: models, BaseDtype: k.base, Dir: t.TempDir()}
			begin(t, o.Dir, arithmetic{"trinity-4", kernel.Sequential, k.base}.id())
			apart := gradientOf(t, o, 8192, k.rank, alike())
			same := allSame(apart, want)
			for i := range apart {
				if d := relative(want[i], apart[i]); d > 0.03 {
					t.Errorf("gradient %d is %v of its norm from that of datums apart", i, d)
				}
			}
			if same {
				t.Error("nothing was shared")
			}
		})
	}
}

// begin makes dir a folder that was begun in an arithmetic.
func begin(t *testing.T, dir, arithmetic string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, orderFile), []byte(arithmetic+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// relative is the norm of a-b over that of b.
func relative(a, b []float32) float64 {
	d, n := 0.0, 1e-20
	for i := range a {
		d += float64((a[i] - b[i]) * (a[i] - b[i]))
		n += float64(b[i] * b[i])
	}
	return d / n
}

// Datums at which the loss has no derivative change no bit of the gradient, and have their log-probabilities.
func TestSilentDatums(t *testing.T) {
	e := open(t, Options{})
	for i, silence := range []func(d *tinker.Datum){
		func(d *tinker.Datum) { clear(d.LossFnInputs[tinker.Weights].Float) },
		func(d *tinker.Datum) { clear(d.LossFnInputs[tinker.Advantages].Float) },
	} {
		req := batch(alike()...)
		if i > 0 {
			req.LossFn = tinker.ImportanceSampling
			for _, d := range req.Data {
				d.LossFnInputs[tinker.Logprobs] = tinker.Floats(make([]float32, d.ModelInput.Len()))
				d.LossFnInputs[tinker.Advantages] = d.LossFnInputs[tinker.Weights]
				delete(d.LossFnInputs, tinker.Weights)
			}
		}
		without := req
		without.Data = nil
		for j := range req.Data {
			if j%3 != 0 {
				without.Data = append(without.Data, req.Data[j])
			} else {
				silence(&req.Data[j])
			}
		}
		with, fewer := create(t, e, int64(2*i), lora(4)), create(t, e, int64(2*i+1), lora(4))
		out := forwardBackward(t, with, req)
		forwardBackward(t, fewer, without)
		if !allSame(gradients(with), gradients(fewer)) {
			t.Errorf("%s: silent datums changed the gradient", req.LossFn)
		}
		for j, d := range req.Data {
			want := logprobs(t, with, alike()[j])[0]
			if got := out.LossFnOutputs[j][tinker.Logprobs].Float; !slices.Equal(got, want) {
				t.Errorf("%s: datum %d of %d tokens has other logprobs", req.LossFn, j, d.ModelInput.Len())
			}
		}
	}
}

// A request of silent datums alone has the gradient zero, and an optimizer step follows as after any other.
func TestSilentRequest(t *testing.T) {
	e := open(t, Options{})
	c, other := create(t, e, 0, lora(4)), create(t, e, 1, lora(4))
	for _, x := range []struct {
		client tinker.TrainingClient
		seqs   [][]int32
	}{{c, alike()}, {other, alike()[:1]}} {
		train(t, x.client, 1, mixed...)
		req := batch(x.seqs...)
		for _, d := range req.Data {
			clear(d.LossFnInputs[tinker.Weights].Float)
		}
		forwardBackward(t, x.client, req)
		f, err := x.client.OptimStep(testContext(t), adam(0.01))
		value(t, f, err)
	}
	if !allSame(logprobs(t, c, mixed...), logprobs(t, other, mixed...)) {
		t.Error("steps without a gradient depend on what was sent")
	}
}

func forwardBackward(t *testing.T, c tinker.TrainingClient, req tinker.ForwardRequest) tinker.ForwardOutput {
	t.Helper()
	f, err := c.ForwardBackward(testContext(t), req)
	return value(t, f, err)
}

func gradients(c tinker.TrainingClient) [][]float32 { return c.(*training.Run).Grads.Accumulators() }
