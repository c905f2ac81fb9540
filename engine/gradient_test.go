package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// gradientOf sends requests to a new model and returns its gradient.
func gradientOf(t *testing.T, o Options, part, rank int, requests ...[][]int32) [][]float32 {
	t.Helper()
	e := open(t, o)
	e.loop.Division.Part = part
	c := create(t, e, 0, lora(rank))
	for _, seqs := range requests {
		f, err := c.ForwardBackward(testContext(t), batch(seqs...))
		value(t, f, err)
	}
	grads := c.(*training.Run).Grads
	all := grads.Accumulators()
	if i := len(grads.T); i < len(all) { // the tensor of a tied embedding is the sum of the accumulators of its ends
		embed := slices.IndexFunc(grads.T,
			func(t model.Tensor) bool { return strings.Contains(t.Name, "embed_tokens") })
		all = slices.Delete(all, embed, embed+1)
	}
	return all
}

// A gradient is the sum, in their order, of the gradients that models of their own compute of its parts, whatever the
// threads, the micro-batches and the requests that the parts came in.
func TestGradientIsTheSumOfItsParts(t *testing.T) {
	const size, whole = 64, 1 << 20
	parts := [][][]int32{{mixed[0], mixed[1]}, {mixed[2]}, {mixed[3]}, {mixed[4]}, {mixed[1], mixed[0]}}
	one, two := mixed, [][]int32{mixed[1], mixed[0]}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			models := map[string]Model{baseName: {Dir: k.model(t)}}
			want := gradientOf(t, Options{Models: models, BaseDtype: k.base, Threads: 1}, whole, k.rank, parts[0])
			for _, p := range parts[1:] {
				o := Options{Models: models, BaseDtype: k.base, Threads: 1}
				for i, a := range gradientOf(t, o, whole, k.rank, p) {
					for j, g := range a {
						want[i][j] += g
					}
				}
			}
			for _, o := range []Options{{Threads: 2, MicroBatch: 48}, {Threads: 3, MicroBatch: 1, TapeBytes: 1}} {
				o.Models, o.BaseDtype = models, k.base
				if !allSame(gradientOf(t, o, size, k.rank, one, two), want) {
					t.Errorf("%d threads, micro-batches of %d: not the sum of the parts", o.Threads, o.MicroBatch)
				}
			}
			if allSame(gradientOf(t, Options{Models: models, BaseDtype: k.base}, whole, k.rank, one, two), want) {
				t.Error("the sum of two parts is the sum of the parts: nothing was tested")
			}
		})
	}
}

// A request that fails after its first parts leaves the gradient as it was.
func TestFailedPartLeavesTheGradient(t *testing.T) {
	for _, before := range [][][]int32{nil, {mixed[0], mixed[3]}} {
		e := open(t, Options{})
		e.loop.Division.Part = 50
		c := create(t, e, 0, lora(4))
		r := c.(*training.Run)
		if before != nil {
			f, err := c.ForwardBackward(testContext(t), batch(before...))
			value(t, f, err)
		}
		var want [][]float32
		for _, a := range r.Grads.Accumulators() {
			want = append(want, slices.Clone(a))
		}
		bad := batch(mixed...)
		weights := bad.Data[2].LossFnInputs[tinker.Weights].Float
		for i := range weights {
			weights[i] = 3e38
		}
		f, err := c.ForwardBackward(testContext(t), bad)
		if err := failure(t, f, err); tinker.CategoryOf(err) != tinker.User {
			t.Errorf("weights of 3e38: %v", err)
		}
		if !allSame(r.Grads.Accumulators(), want) {
			t.Errorf("after %d datums, a request that failed left something in the gradient", len(before))
		}
	}
}

// A folder that v0.2.0 began, which noted the order alone, continues as it began: a gradient adds up row by row, so
// that cutting a request in two changes no bit.
func TestFirstArithmetic(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	begin(t, o.Dir, "sequential")
	if name, err := NumericsOf(o.Dir, "", ""); err != nil || name != "trinity-3-sequential" {
		t.Errorf("numerics of the folder: %s, %v", name, err)
	}
	best, err := kernel.Best(kernel.Sequential) // on AMX not the path of new folders
	if err != nil {
		t.Error(err)
	}
	o.Kernel = best.Path().String()
	e := open(t, o)
	whole, cut := create(t, e, 0, lora(4)), create(t, e, 1, lora(4))
	forwardBackward(t, whole, batch(mixed...))
	forwardBackward(t, cut, batch(mixed[:2]...))
	forwardBackward(t, cut, batch(mixed[2:]...))
	if !allSame(gradients(whole), gradients(cut)) {
		t.Error("cutting a request changed bits")
	}
}

func TestNumericsOf(t *testing.T) {
	dir := t.TempDir()
	if name, err := NumericsOf(dir, "", ""); err != nil || name != NewNumerics() {
		t.Errorf("a new folder: %s, %v", name, err)
	}
	for _, order := range orders() {
		if name, err := NumericsOf(dir, order.String(), ""); err != nil || name != Numerics+"-"+order.String() {
			t.Errorf("a new folder in order %v: %s, %v", order, name, err)
		}
	}
	if _, err := arithmeticOf(open(t, Options{}).opts.FS, dir, kernel.Sequential.String(), ""); err != nil {
		t.Fatal(err)
	}
	if name, err := NumericsOf(dir, "", ""); err != nil || name != Numerics+"-sequential" {
		t.Errorf("a folder begun now: %s, %v", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, orderFile), []byte("trinity-99-sequential\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{second(NumericsOf(dir, "", "")), second(Open(Options{Dir: dir}))} {
		if err == nil || tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), `"trinity-99"`) {
			t.Errorf("a newer folder: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
