// Command steps measures what a training request costs in the present arithmetic, which computes once what datums
// share and leaves out those that teach nothing, beside trinity-4, which does neither. Both engines run in turns in one
// process, and each row is the median of the turns' ratios. Logprobs must have the same bits.
//
//	go run ./bench/steps -model FOLDER-OR-GGUF
//
// Needs: a model in -model; `go run ./bench/peers -make 0.6b DIR` makes one of random weights
// Takes: a few minutes with a model of 135 million parameters
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func main() {
	model := flag.String("model", "", "a folder with weights, or a GGUF file")
	turns := flag.Int("turns", 5, "turns of each row")
	flag.Parse()
	if err := run(context.Background(), *model, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

// older is the arithmetic that the present one is measured beside.
const older = "trinity-4"

func run(ctx context.Context, name string, turns int) error {
	cache, err := os.MkdirTemp("", "steps")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	find := func(path string) string { return path }
	model, err := modelname.Finder{Find: find, Cache: cache}.Folder(ctx, name)
	if err != nil {
		return err
	}
	now, err := begin(ctx, cache, model, "")
	if err != nil {
		return err
	}
	defer now.engine.Close()
	then, err := begin(ctx, cache, model, older)
	if err != nil {
		return err
	}
	defer then.engine.Close()
	fmt.Printf("%s, %s beside %s, kernels %s, %d turns\n\n", filepath.Base(name), now.engine.NumericsID(),
		then.engine.NumericsID(), now.engine.Kernel(), turns)
	fmt.Printf("%-58s %8s %8s %6s\n", "forward_backward of a LoRA of rank 32, seconds", older, "now", "ratio")
	for _, w := range works() {
		if err := measure(ctx, then, now, w, turns); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// trained is an engine with one training run.
type trained struct {
	engine *engine.Engine
	client tinker.TrainingClient
}

// begin opens an engine on a folder below home that was begun in an arithmetic, "" for the present one.
func begin(ctx context.Context, home, model, arithmetic string) (t trained, err error) {
	dir, err := os.MkdirTemp(home, "engine")
	if err != nil {
		return t, err
	}
	if arithmetic != "" {
		_, order, _ := strings.Cut(strings.TrimPrefix(engine.NewNumerics(), "trinity-"), "-")
		if err := os.WriteFile(filepath.Join(dir, "order"), []byte(arithmetic+"-"+order+"\n"), 0o644); err != nil {
			return t, err
		}
	}
	o := engine.Options{Dir: dir, Models: map[string]engine.Model{"m": {Dir: model}}}
	if t.engine, err = engine.Open(o); err != nil {
		return t, err
	}
	seed := int64(1)
	t.client, err = t.engine.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "s", BaseModel: "m",
		LoRA: tinker.LoRA{Rank: 32, Alpha: 32, Seed: &seed, TrainAttn: true, TrainMLP: true}})
	return t, err
}

// measure prints one row.
func measure(ctx context.Context, then, now trained, w work, turns int) error {
	data := w.data()
	var before, after, ratio []float64
	for i := range turns + 1 { // the first warms up
		a, old, err := then.step(ctx, data)
		if err != nil {
			return err
		}
		b, got, err := now.step(ctx, data)
		if err != nil {
			return err
		}
		for j := range old.LossFnOutputs {
			if !slices.Equal(got.LossFnOutputs[j][tinker.Logprobs].Float, old.LossFnOutputs[j][tinker.Logprobs].Float) {
				return fmt.Errorf("datum %d has other logprobs", j)
			}
		}
		if i > 0 {
			before, after, ratio = append(before, a), append(after, b), append(ratio, a/b)
		}
	}
	fmt.Printf("%-58s %8.2f %8.2f %6.2f\n", w.name, median(before), median(after), median(ratio))
	return nil
}

// step computes a request's gradient and drops it.
func (t trained) step(ctx context.Context, data []tinker.Datum) (seconds float64, out tinker.ForwardOutput, err error) {
	began := time.Now()
	f, err := t.client.ForwardBackward(ctx, tinker.ForwardRequest{Data: data, LossFn: tinker.CrossEntropy})
	if err != nil {
		return 0, out, err
	}
	out, err = f.Wait(ctx)
	seconds = time.Since(began).Seconds()
	if err != nil {
		return 0, out, err
	}
	g, err := t.client.OptimStep(ctx, tinker.OptimStepRequest{}) // of learning rate 0
	if err == nil {
		_, err = g.Wait(ctx)
	}
	return seconds, out, err
}

// work is a kind of request: groups of answers to a prompt, or episodes whose turns are datums of their own.
type work struct {
	name            string
	groups, answers int
	prompt, tokens  int
	turns           bool // each answer continues the one before
	silent          int  // of that many groups all weights are 0
}

func works() []work {
	return []work{
		{name: "16 answers of 150 tokens to a prompt of 1,000", groups: 1, answers: 16, prompt: 1000, tokens: 150},
		{name: "8 × 8 answers of 150 tokens to prompts of 80", groups: 8, answers: 8, prompt: 80, tokens: 150},
		{name: "the same, 6 of the 8 groups without signal", groups: 8, answers: 8, prompt: 80, tokens: 150, silent: 6},
		{name: "8 episodes of 10 turns of 60 tokens", groups: 8, answers: 10, prompt: 60, tokens: 60, turns: true},
		{name: "16 distinct rows of 230 tokens", groups: 16, answers: 1, prompt: 80, tokens: 150},
	}
}

// data makes the datums. Prompts have no weight.
func (w work) data() (data []tinker.Datum) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []int32 {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(r.IntN(500))
		}
		return ids
	}
	for g := range w.groups {
		prefix := random(w.prompt)
		for range w.answers {
			ids := slices.Concat(prefix, random(w.tokens))
			weights := make([]float32, len(ids)-1)
			for i := len(prefix) - 1; i < len(weights) && g >= w.silent; i++ {
				weights[i] = 1
			}
			data = append(data, tinker.Datum{ModelInput: tinker.Text(ids[:len(ids)-1]),
				LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts(ids[1:]),
					tinker.Weights: tinker.Floats(weights)}})
			if w.turns {
				prefix = ids
			}
		}
	}
	return data
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
