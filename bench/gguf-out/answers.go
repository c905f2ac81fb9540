package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// answer is a prompt with the job's greedy answer, and the logprobs of its tokens after the first: of the job as it
// samples, of the job in float32, and of the base model in float32.
type answer struct {
	Prompt   string    `json:"prompt"`
	Tokens   []int32   `json:"tokens"`
	Length   int       `json:"length"` // of the prompt
	Greedy   []int32   `json:"greedy"` // the answer in float32
	Logprobs []float32 `json:"logprobs"`
	Float32  []float32 `json:"float32"`
	Base     []float32 `json:"base"`
}

func questions() []string {
	return []string{"What is the capital of France?", "Write one sentence about the sea.",
		"Tom has 17 apples and buys 25 more. How many has he?", "Translate to French: good morning.",
		"Write a list of 4 animals.", "def fib(n):", "Ünïcödé, 東京 and 🙂: what are they?",
		"There are 3 cars with 4 wheels each. How many wheels?"}
}

// answers asks the job. wide is the base model in float32.
func answers(ctx context.Context, base, wide, adapter string) (all []answer, err error) {
	dir, err := os.MkdirTemp("", "gguf-out-engine")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	e, err := engine.Open(engine.Options{Dir: dir, Models: map[string]engine.Model{
		"job": {Dir: base, Adapter: adapter}, "base": {Dir: wide}, "float32": {Dir: wide, Adapter: adapter}}})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	tok, err1 := tokenizer.Load(base)
	conf, err2 := tokenizer.LoadConfig(base)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	template, err := chat.New(conf.ChatTemplate, conf, time.Time{})
	if err != nil {
		return nil, err
	}
	for _, question := range questions() {
		messages := []chat.Message{{Role: "user", Content: question}}
		text, err := template.Render(messages, chat.Options{AddGenerationPrompt: true})
		if err != nil {
			return nil, err
		}
		a := answer{Prompt: text, Tokens: tok.Encode(text, false)}
		if err := a.ask(ctx, e); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// ask adds the answers and the logprobs.
func (a *answer) ask(ctx context.Context, e *engine.Engine) error {
	a.Length = len(a.Tokens)
	clients := map[string]tinker.SamplingClient{}
	greedy := map[string][]int32{}
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Temperature = 32, 0
	for _, model := range []string{"job", "float32", "base"} {
		c, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: model})
		if err != nil {
			return err
		}
		r, err := tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text(a.Tokens), Params: p})
		if err != nil {
			return err
		}
		clients[model], greedy[model] = c, r.Sequences[0].Tokens
	}
	a.Tokens, a.Greedy = append(a.Tokens, greedy["job"]...), greedy["float32"]
	for model, to := range map[string]*[]float32{"job": &a.Logprobs, "float32": &a.Float32, "base": &a.Base} {
		all, err := tinker.ComputeLogprobs(ctx, clients[model], tinker.Text(a.Tokens))
		if err != nil {
			return err
		}
		*to = all[1:]
	}
	return nil
}

// widen copies a model folder of one weight file, in float32.
func widen(dir, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return err
	}
	defer f.Close()
	var list []safetensors.Tensor
	for _, x := range f.Tensors() {
		data, err := x.Floats()
		if err != nil {
			return err
		}
		list = append(list, safetensors.FromF32(x.Name, x.Shape, data))
	}
	err = safetensors.Write(filepath.Join(to, "model.safetensors"), list, map[string]string{"format": "pt"})
	for _, name := range []string{"config.json", "tokenizer.json", "tokenizer_config.json"} {
		data, err1 := os.ReadFile(filepath.Join(dir, name))
		err = errors.Join(err, err1, os.WriteFile(filepath.Join(to, name), data, 0o644))
	}
	return err
}
