package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// A part is consecutive datums up to its size, or a longer one alone.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		part    int
		lengths []int
		want    []int // datums of each part
	}{
		{100, []int{100}, []int{1}},
		{100, []int{60, 40, 1}, []int{2, 1}},
		{100, []int{60, 41, 59}, []int{1, 2}},
		{100, []int{400, 1, 99, 400, 400}, []int{1, 2, 1, 1}},
		{0, []int{400, 1, 99}, []int{3}},
	} {
		var items []checkedDatum
		for i, n := range c.lengths {
			items = append(items, checkedDatum{index: i, tokens: make([]int32, n)})
		}
		var got []int
		next := 0
		for _, part := range (arithmetic{part: c.part}).parts(items) {
			got = append(got, len(part))
			for _, it := range part {
				if it.index != next {
					t.Errorf("parts of %d tokens of %v: datum %d comes at %d", c.part, c.lengths, it.index, next)
				}
				next++
			}
		}
		if !slices.Equal(got, c.want) || next != len(items) {
			t.Errorf("parts of %d tokens of %v have %v datums, want %v", c.part, c.lengths, got, c.want)
		}
	}
}

// gradientOf sends requests to a new model and returns its gradient.
func gradientOf(t *testing.T, o Options, part, rank int, requests ...[][]int32) [][]float32 {
	t.Helper()
	e := open(t, o)
	e.numerics.part = part
	c := create(t, e, 0, lora(rank))
	for _, seqs := range requests {
		f, err := c.ForwardBackward(testContext(t), batch(seqs...))
		value(t, f, err)
	}
	grads := c.(*trainingRun).grads
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
	const size = 64
	parts := [][][]int32{{mixed[0], mixed[1]}, {mixed[2]}, {mixed[3]}, {mixed[4]}, {mixed[1], mixed[0]}}
	one, two := mixed, [][]int32{mixed[1], mixed[0]}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			models := map[string]Model{baseName: {Dir: writeModel(t, k.bf16, k.tied)}}
			want := gradientOf(t, Options{Models: models, Threads: 1}, 0, k.rank, parts[0])
			for _, p := range parts[1:] {
				for i, a := range gradientOf(t, Options{Models: models, Threads: 1}, 0, k.rank, p) {
					for j, g := range a {
						want[i][j] += g
					}
				}
			}
			for _, o := range []Options{{Threads: 2}, {Threads: 3, MicroBatch: 1}, {MicroBatch: 48}, {TapeBytes: 1}} {
				o.Models = models
				if !allSame(gradientOf(t, o, size, k.rank, one, two), want) {
					t.Errorf("%d threads, micro-batches of %d: not the sum of the parts", o.Threads, o.MicroBatch)
				}
			}
			if allSame(gradientOf(t, Options{Models: models}, 0, k.rank, one, two), want) {
				t.Error("the sum row by row is the sum of the parts: nothing was tested")
			}
		})
	}
}

// A request that fails after its first parts leaves the gradient as it was.
func TestFailedPartLeavesTheGradient(t *testing.T) {
	for _, before := range [][][]int32{nil, {mixed[0], mixed[3]}} {
		e := open(t, Options{})
		e.numerics.part = 50
		c := create(t, e, 0, lora(4))
		r := c.(*trainingRun)
		if before != nil {
			f, err := c.ForwardBackward(testContext(t), batch(before...))
			value(t, f, err)
		}
		var want [][]float32
		for _, a := range r.grads.Accumulators() {
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
		if !allSame(r.grads.Accumulators(), want) {
			t.Errorf("after %d datums, a request that failed left something in the gradient", len(before))
		}
	}
}

// A folder that trinity-3 began, which noted the order alone, goes on as it began: a gradient adds up row by row, so
// that cutting a request in two changes no bit.
func TestOlderArithmeticGoesOn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, orderFile), []byte("sequential\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if name, err := NumericsOf(dir, ""); err != nil || name != "trinity-3-sequential" {
		t.Errorf("numerics of the folder: %s, %v", name, err)
	}
	best, err := kernel.Best(kernel.Sequential) // on AMX not the path of new folders
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Dir: dir, Kernel: best.Path().String()})
	if id := e.NumericsID(); id != "trinity-3-sequential" {
		t.Errorf("the folder computes in %s", id)
	}
	whole, cut := create(t, e, 0, lora(4)), create(t, e, 1, lora(4))
	for _, r := range []struct {
		client tinker.TrainingClient
		seqs   [][]int32
	}{{whole, mixed}, {cut, mixed[:2]}, {cut, mixed[2:]}} {
		f, err := r.client.ForwardBackward(testContext(t), batch(r.seqs...))
		value(t, f, err)
	}
	if !allSame(whole.(*trainingRun).grads.Accumulators(), cut.(*trainingRun).grads.Accumulators()) {
		t.Error("cutting a request changed bits")
	}
}

func TestNumericsOf(t *testing.T) {
	dir := t.TempDir()
	if name, err := NumericsOf(dir, ""); err != nil || name != NewNumerics() {
		t.Errorf("a new folder: %s, %v", name, err)
	}
	for _, order := range orders() {
		if name, err := NumericsOf(dir, order.String()); err != nil || name != Numerics+"-"+order.String() {
			t.Errorf("a new folder in order %v: %s, %v", order, name, err)
		}
	}
	if _, err := arithmeticOf(open(t, Options{}).opts.FS, dir, kernel.Sequential.String()); err != nil {
		t.Fatal(err)
	}
	if name, err := NumericsOf(dir, ""); err != nil || name != Numerics+"-sequential" {
		t.Errorf("a folder begun now: %s, %v", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, orderFile), []byte("trinity-99-sequential\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{second(NumericsOf(dir, "")), second(Open(Options{Dir: dir}))} {
		if err == nil || tinker.CategoryOf(err) != tinker.User || !strings.Contains(err.Error(), `"trinity-99"`) {
			t.Errorf("a newer folder: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
