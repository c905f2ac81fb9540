package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// contract is the contract of executor.Executor as a test suite.
type contract struct {
	Executor executor.Executor
	Versions map[string]executor.Version // of one model; each trains something
	Vocab    int                         // at least 64
}

func (s contract) run(t *testing.T) {
	for name, v := range s.Versions {
		t.Run(name, func(t *testing.T) {
			c := suite{s, v}
			t.Run("ranges of samples", c.ranges)
			t.Run("gradient beside forward", c.gradients)
			t.Run("datums do not see each other", c.independent)
			t.Run("beside other calls", c.together)
			t.Run("cancelled", c.cancelled)
			t.Run("wrong calls", c.wrong)
		})
	}
}

type suite struct {
	contract
	v executor.Version
}

func (c suite) context(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (c suite) tokens(seed, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32((seed*31 + i*i*7 + i*13) % c.Vocab)
	}
	return list
}

func (c suite) sample(first, n int) executor.Sample {
	return executor.Sample{Prompt: c.tokens(1, 40), First: first, N: n, Seed: 7, MaxTokens: 12, Temperature: 1, TopP: 1,
		StopTokens: []int32{int32(c.Vocab - 1)}}
}

// batch is datums of different lengths with weights.
func (c suite) batch(seeds ...int) executor.Batch {
	b := executor.Batch{Loss: tinker.CrossEntropy, Config: map[string]float64{tinker.EntropyCoef: 0.01}}
	for _, seed := range seeds {
		all := c.tokens(seed, 10+seed*7%50)
		n := len(all) - 1
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(i%3) - 0.75
		}
		b.Data = append(b.Data, tinker.Datum{ModelInput: tinker.Text(all[:n]), LossFnInputs: map[string]tinker.Tensor{
			tinker.TargetTokens: tinker.TokenInts(all[1:]), tinker.Weights: tinker.Floats(w)}})
	}
	return b
}

func (c suite) ranges(t *testing.T) {
	ctx := c.context(t)
	whole, err := c.Executor.Sample(ctx, c.v, c.sample(0, 5))
	if err != nil {
		t.Fatal(err)
	}
	var parts []tinker.SampledSequence
	for _, r := range [][2]int{{0, 2}, {2, 1}, {3, 2}} {
		part, err := c.Executor.Sample(ctx, c.v, c.sample(r[0], r[1]))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part...)
	}
	if !reflect.DeepEqual(whole, parts) {
		t.Errorf("samples in ranges are %v, in one call %v", parts, whole)
	}
	if len(whole) != 5 || reflect.DeepEqual(whole[0], whole[1]) {
		t.Errorf("5 samples from one prompt: %v", whole)
	}
}

func (c suite) gradients(t *testing.T) {
	ctx := c.context(t)
	b := c.batch(3, 1, 4)
	outs, err := c.Executor.Forward(ctx, c.v, b)
	if err != nil {
		t.Fatal(err)
	}
	again, g, err := c.Executor.Gradient(ctx, c.v, b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(outs, again) {
		t.Error("the outputs of a gradient differ from those of a forward")
	}
	for i, d := range b.Data {
		if n := d.ModelInput.Len(); len(outs[i].Logprobs) != n || len(outs[i].Entropy) != n || len(
			outs[i].Centre) != n {
			t.Errorf("datum %d of %d tokens: %d logprobs, %d entropies, %d centres", i, n, len(outs[i].Logprobs),
				len(outs[i].Entropy), len(outs[i].Centre))
		}
	}
	largest := float32(0)
	for _, v := range slices.Concat(g...) {
		largest = max(largest, float32(math.Abs(float64(v))))
	}
	if !(largest > 0) {
		t.Errorf("the largest value of a gradient is %v", largest)
	}
	_, twice, err := c.Executor.Gradient(ctx, c.v, b)
	if err != nil || !same(g, twice) {
		t.Errorf("the same call twice gives two gradients; %v", err)
	}
}

func (c suite) independent(t *testing.T) {
	ctx := c.context(t)
	together, err := c.Executor.Forward(ctx, c.v, c.batch(1, 2, 3, 4, 5))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range together {
		alone, err := c.Executor.Forward(ctx, c.v, c.batch(i+1))
		if err != nil || !reflect.DeepEqual(alone, []executor.Output{want}) {
			t.Errorf("datum %d alone and with others: other bits; %v", i, err)
		}
	}
}

// together makes calls of all kinds at once, whose results must be those of each alone.
func (c suite) together(t *testing.T) {
	ctx := c.context(t)
	calls := []func() (any, error){}
	for i := range 4 {
		calls = append(calls, func() (any, error) {
			return c.Executor.Sample(ctx, c.v, c.sample(i, 2))
		}, func() (any, error) {
			return c.Executor.Forward(ctx, c.v, c.batch(i, i+1))
		}, func() (any, error) {
			_, g, err := c.Executor.Gradient(ctx, c.v, c.batch(i+1, i))
			return fmt.Sprintf("%x", g), err
		})
	}
	want := make([]any, len(calls))
	for i, call := range calls {
		var err error
		if want[i], err = call(); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			if got, err := call(); err != nil || !reflect.DeepEqual(got, want[i]) {
				t.Errorf("call %d beside others gives another result; %v", i, err)
			}
		})
	}
	all.Wait()
}

func (c suite) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(c.context(t))
	because := errors.New("not wanted any more")
	cancel(because)
	_, err := c.Executor.Sample(ctx, c.v, c.sample(0, 2))
	_, ferr := c.Executor.Forward(ctx, c.v, c.batch(1))
	_, _, gerr := c.Executor.Gradient(ctx, c.v, c.batch(1))
	for _, err := range []error{err, ferr, gerr} {
		if !errors.Is(err, because) {
			t.Errorf("a cancelled call: %v", err)
		}
	}
}

func (c suite) wrong(t *testing.T) {
	ctx := c.context(t)
	other := c.v
	other.Numerics = "trinity-0-upside-down"
	lost := c.v
	lost.Params = executor.HashOf([]byte("nobody has this"))
	for name, v := range map[string]executor.Version{"unknown arithmetic": other, "unknown weights": lost} {
		if _, err := c.Executor.Forward(ctx, v, c.batch(1)); err == nil {
			t.Errorf("%s: computed", name)
		}
	}
	far := c.sample(0, 1)
	far.Prompt = []int32{int32(c.Vocab)}
	if _, err := c.Executor.Sample(ctx, c.v, far); err == nil {
		t.Error("a token outside the vocabulary: sampled")
	}
	b := c.batch(1)
	b.Loss = "none"
	if _, _, err := c.Executor.Gradient(ctx, c.v, b); err == nil {
		t.Error("an unknown loss: computed")
	}
	if _, err := c.Executor.Forward(ctx, c.v, c.batch(2)); err != nil {
		t.Errorf("after errors: %v", err)
	}
}

func same(a, b executor.Gradient) bool {
	return slices.EqualFunc(a, b, func(x, y []float32) bool {
		return slices.EqualFunc(x, y, func(v, w float32) bool { return math.Float32bits(v) == math.Float32bits(w) })
	})
}
