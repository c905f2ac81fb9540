// Command peft trains adapters on small models of several families and compares their log-probabilities with Python's
// peft, and those of the merged models with transformers.
//
// Needs: Python and pip, or PYTHON=python with torch, transformers and peft
// Takes: five minutes
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// testdata has the small models and adapters of peft's own.
const testdata = "engine/internal/model/testdata"

// comparison is one element of what check.py reads.
type comparison struct {
	Name     string    `json:"name"`
	Base     string    `json:"base"`
	Adapter  string    `json:"adapter"`
	Merged   string    `json:"merged"`
	Tokens   []int32   `json:"tokens"`
	Logprobs []float32 `json:"logprobs"`
	Bound    float64   `json:"bound"`
}

// trained are adapters on a family: new ones, or begun with one of peft's.
var trained = []struct {
	base  string
	lora  tinker.LoRA
	begin string
	bound float64
}{
	{"nemo", tinker.LoRA{Rank: 4, Alpha: 8, TrainAttn: true}, "", 1e-4},
	{"nemo", tinker.LoRA{Rank: 4, TrainMLP: true}, "", 1e-4},
	{"qwen3-t5", tinker.LoRA{Rank: 8, Alpha: 12, TrainAttn: true, TrainMLP: true, TrainUnembed: true}, "", 1e-4},
	{"qwen3-t5", tinker.LoRA{Rank: 3, Alpha: 9, Modules: "q_proj,v_proj"}, "", 1e-4},
	{"llama2", tinker.LoRA{Rank: 4, Alpha: 8, TrainAttn: true, TrainMLP: true}, "", 0.02}, // merged into f16
	{"qwen25", tinker.LoRA{Rank: 4, Alpha: 8, Modules: "up_proj,lm_head"}, "", 0.2},       // computed in bf16
	{"llama32", tinker.LoRA{}, "llama32-layers", 0.2},
	{"qwen25", tinker.LoRA{}, "qwen25-some", 0.2},
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peft:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	python, err := venv.Python("bin/peft", "torch==2.6.0", "transformers==5.23.0", "peft==0.21.2")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "peft")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	models := map[string]engine.Model{}
	for _, t := range trained {
		models[t.base] = engine.Model{Dir: filepath.Join(testdata, "families", t.base), Tokens: letters{}}
	}
	e, err := engine.Open(engine.Options{Dir: filepath.Join(work, "engine"), Models: models})
	if err != nil {
		return err
	}
	defer e.Close()
	var cases []comparison
	for i, t := range trained {
		c, err := begin(ctx, e, t.base, t.lora, t.begin)
		if err != nil {
			return err
		}
		made := comparison{Name: fmt.Sprintf("%s, case %d %s", t.base, i+1, t.begin), Base: models[t.base].Dir,
			Merged: filepath.Join(work, fmt.Sprint("merged", i)), Tokens: tokens(), Bound: t.bound}
		if err := made.train(ctx, e, c); err != nil {
			return err
		}
		cases = append(cases, made)
	}
	raw, err := json.Marshal(cases)
	if err != nil {
		return err
	}
	file := filepath.Join(work, "cases.json")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		return err
	}
	check := exec.CommandContext(ctx, python, "bench/peft/check.py", file)
	check.Stdout, check.Stderr = os.Stdout, os.Stderr
	return check.Run()
}

// begin makes a training run with a new adapter, or with one of peft's.
func begin(ctx context.Context, e *engine.Engine, base string, l tinker.LoRA, adapter string) (tinker.TrainingClient,
	error) {
	if adapter == "" {
		seed := int64(5)
		l.Seed = &seed
		return e.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: base, LoRA: l})
	}
	path, err := e.ImportPEFT(base, filepath.Join(testdata, "peft", adapter), "start-"+adapter, "adapter")
	if err != nil {
		return nil, err
	}
	return e.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: path})
}

// train trains, saves and merges the adapter, and keeps its logprobs.
func (c *comparison) train(ctx context.Context, e *engine.Engine, client tinker.TrainingClient) error {
	request := batch(c.Tokens)
	adam := tinker.DefaultAdam()
	adam.LearningRate, adam.Eps = 2e-2, 1e-8
	for range 12 {
		if _, err := wait(ctx)(client.ForwardBackward(ctx, request)); err != nil {
			return err
		}
		o, err := client.OptimStep(ctx, tinker.OptimStepRequest{Adam: adam})
		if err != nil {
			return err
		}
		if _, err := o.Wait(ctx); err != nil {
			return err
		}
	}
	out, err := wait(ctx)(client.Forward(ctx, request))
	if err != nil {
		return err
	}
	c.Logprobs = out.LossFnOutputs[0][tinker.Logprobs].Float
	f, err := client.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: "trained"})
	if err != nil {
		return err
	}
	saved, err := f.Wait(ctx)
	if err != nil {
		return err
	}
	if c.Adapter, err = e.Folder(saved.Path); err != nil {
		return err
	}
	adapter, err := engine.ReadAdapter(c.Adapter)
	if err != nil {
		return err
	}
	_, err = engine.Merge(c.Base, adapter, c.Merged, "")
	return err
}

func wait(ctx context.Context) func(*tinker.Future[tinker.ForwardOutput], error) (tinker.ForwardOutput, error) {
	return func(f *tinker.Future[tinker.ForwardOutput], err error) (tinker.ForwardOutput, error) {
		if err != nil {
			return tinker.ForwardOutput{}, err
		}
		return f.Wait(ctx)
	}
}

// tokens is a sequence of the vocabulary of those models.
func tokens() []int32 {
	ids := make([]int32, 97)
	for i := range ids {
		ids[i] = int32((93 + i*i*7 + i*13) % 139 % 96)
	}
	return ids
}

// batch trains on a sequence with changing weights.
func batch(ids []int32) tinker.ForwardRequest {
	n := len(ids) - 1
	weights := make([]float32, n)
	for i := range weights {
		weights[i] = float32(i%3) - 0.75
	}
	return tinker.ForwardRequest{LossFn: tinker.CrossEntropy, Data: []tinker.Datum{{ModelInput: tinker.Text(ids[:n]),
		LossFnInputs: map[string]tinker.Tensor{tinker.TargetTokens: tinker.TokenInts(ids[1:]),
			tinker.Weights: tinker.Floats(weights)}}}}
}

// letters stands for a tokenizer, which the small models do not have.
type letters struct{}

func (letters) Bytes(id int32) []byte { return []byte{byte('0' + id%10), ';'} }
