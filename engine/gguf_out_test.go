package engine

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

var (
	ggufPython = flag.String("gguf.python", "", "a Python with llama-cpp-python, gguf, torch, transformers and peft")
	ggufBase   = flag.String("gguf.base", "", "the folder of the base model")
	ggufJob    = flag.String("gguf.job", "", "the folder of an adapter trained on it")
	ggufWork   = flag.String("gguf.work", "", "the folder of the GGUF files of both: bf16.gguf, lora.gguf, …")
)

// ggufAnswer is a prompt with the job's greedy answer, and the logprobs of its tokens after the first: of the job as it
// samples, of the job in float32, and of the base model in float32.
type ggufAnswer struct {
	Prompt   string    `json:"prompt"`
	Tokens   []int32   `json:"tokens"`
	Length   int       `json:"length"` // of the prompt
	Greedy   []int32   `json:"greedy"` // the answer in float32
	Logprobs []float32 `json:"logprobs"`
	Float32  []float32 `json:"float32"`
	Base     []float32 `json:"base"`
}

// llama.cpp computes the job's logprobs and answers from the GGUF files that trinity convert wrote, and Python's peft
// from the adapter itself: see testdata/gguf_out.py. make gguf-out prepares the files.
func TestGGUFOut(t *testing.T) {
	if *ggufPython == "" {
		t.Skip("no -gguf.python; make gguf-out has one")
	}
	wide := widened(t, *ggufBase)
	tok, err := tokenizer.Load(*ggufBase)
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{Models: map[string]Model{"job": {Dir: *ggufBase, Adapter: *ggufJob}, "base": {Dir: wide},
		"float32": {Dir: wide, Adapter: *ggufJob}}})
	var answers []ggufAnswer
	for _, question := range ggufQuestions() {
		a := ask(t, e, tok, question)
		for model, to := range map[string]*[]float32{"job": &a.Logprobs, "float32": &a.Float32, "base": &a.Base} {
			*to = promptLogprobs(t, e, model, a.Tokens)
		}
		answers = append(answers, a)
	}
	raw, err := json.Marshal(map[string]any{"base": wide, "adapter": *ggufJob, "answers": answers})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(*ggufWork, "ours.json"), raw)
	out, err := exec.CommandContext(t.Context(), *ggufPython, "testdata/gguf_out.py", *ggufWork).Output()
	t.Logf("\n%s", out)
	if err != nil {
		t.Error(err)
	}
}

func ggufQuestions() []string {
	return []string{"What is the capital of France?", "Write one sentence about the sea.",
		"Tom has 17 apples and buys 25 more. How many has he?", "Translate to French: good morning.",
		"Write a list of 4 animals.", "def fib(n):", "Ünïcödé, 東京 and 🙂: what are they?",
		"There are 3 cars with 4 wheels each. How many wheels?"}
}

// ask returns the greedy answer of the job.
func ask(t *testing.T, e *Engine, tok *tokenizer.Tokenizer, question string) ggufAnswer {
	t.Helper()
	conf, err := tokenizer.LoadConfig(*ggufBase)
	if err != nil {
		t.Fatal(err)
	}
	template, err := chat.New(conf.ChatTemplate, conf, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	messages := []chat.Message{{Role: "user", Content: question}}
	text, err := template.Render(messages, chat.Options{AddGenerationPrompt: true})
	if err != nil {
		t.Fatal(err)
	}
	a := ggufAnswer{Prompt: text, Tokens: tok.Encode(text, false)}
	a.Length = len(a.Tokens)
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Temperature = 32, 0
	r := tinker.SampleRequest{Prompt: tinker.Text(a.Tokens), Params: p}
	answer := sampleOf(t, e, "job", r).Sequences[0].Tokens
	a.Tokens, a.Greedy = append(a.Tokens, answer...), sampleOf(t, e, "float32", r).Sequences[0].Tokens
	return a
}

// promptLogprobs are those of the tokens after the first.
func promptLogprobs(t *testing.T, e *Engine, model string, tokens []int32) []float32 {
	t.Helper()
	p := tinker.DefaultSampling()
	p.MaxTokens = 1
	got := sampleOf(t, e, model, tinker.SampleRequest{Prompt: tinker.Text(tokens), Params: p, PromptLogprobs: true})
	return got.PromptLogprobs[1:]
}

func sampleOf(t *testing.T, e *Engine, model string, r tinker.SampleRequest) tinker.SampleResponse {
	t.Helper()
	s, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: model})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Sample(t.Context(), r)
	return value(t, f, err)
}

// widened is a copy of a model folder with one weight file, in float32.
func widened(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []safetensors.Tensor
	for _, x := range f.Tensors() {
		data, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, safetensors.FromF32(x.Name, x.Shape, data))
	}
	err = safetensors.Write(filepath.Join(to, "model.safetensors"), list, map[string]string{"format": "pt"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.json", "tokenizer.json", "tokenizer_config.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, name), data)
	}
	return to
}
