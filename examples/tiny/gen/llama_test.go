package main

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const llamaFolder = "../../llama/model"

// The template that the small Llama was trained with is the one of the guide's configurations.
func TestLlamaTemplate(t *testing.T) {
	for _, name := range []string{"tinker.yaml", "verl.yaml"} {
		noEnv := func(string) (string, bool) { return "", false }
		cfg, err := config.Load("../../../run/testdata/guide/"+name, nil, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Model.CustomChatTemplate != llamaTemplate {
			t.Errorf("%s has another chat template", name)
		}
	}
}

// The tokenizer knows Llama 3's special tokens, each as one token, puts <|begin_of_text|> before a text, and keeps
// digits apart.
func TestLlamaTokenizer(t *testing.T) {
	tok, err := tokenizer.Load(llamaFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"begin_of_text", "end_of_text", "finetune_right_pad_id", "start_header_id",
		"end_header_id", "eom_id", "eot_id",
		"python_tag", "reserved_special_token_0", "reserved_special_token_247"} {
		if ids := tok.Encode("<|"+name+"|>", false); len(ids) != 1 || !tok.IsSpecial(ids[0]) {
			t.Errorf("<|%s|> is %v, want one special token", name, ids)
		}
	}
	if ids := tok.Encode("128", true); len(ids) != 4 || ids[0] != tok.Encode("<|begin_of_text|>", false)[0] {
		t.Errorf("128 is %v, want <|begin_of_text|> and three digits", ids)
	}
	if ids := tok.Encode("assistant", false); len(ids) != 1 {
		t.Errorf("assistant is %v, want one token", ids)
	}
}

// Prompts are as math_workflow renders them, but for the date, which is any, and the drills.
func TestLlamaPretrainRows(t *testing.T) {
	out := t.TempDir()
	if err := run([]string{"llama-pretrain", "-out", out, "-rows", "200"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	p, err := newPrompts()
	if err != nil {
		t.Fatal(err)
	}
	full, drills, dates := 0, 0, map[string]bool{}
	for line := range strings.Lines(string(read(t, filepath.Join(out, "train.jsonl")))) {
		var row solved
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		_, question, asked := strings.Cut(row.Question, "<|start_header_id|>user<|end_header_id|>\n\n")
		if !asked {
			drills++
			continue
		}
		question, _, _ = strings.Cut(question, "<|eot_id|>")
		_, date, system := strings.Cut(row.Question, "Today Date: ")
		if !system {
			if want := "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n" + question +
				"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"; row.Question != want {
				t.Fatalf("prompt %q, want %q", row.Question, want)
			}
			continue
		}
		full++
		date, _, _ = strings.Cut(date, "\n")
		dates[date] = true
		day, err := time.Parse("02 Jan 2006", date)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := p.render(question, day); err != nil || row.Question != want {
			t.Fatalf("prompt %q, want %q (%v)", row.Question, want, err)
		}
	}
	if full < 3 || full > 40 || len(dates) < full/2 || drills < 50 || drills > 110 {
		t.Errorf("%d of 200 rows are drills, %d prompts are whole, on %d dates", drills, full, len(dates))
	}
}

// The gain changes no bit of what the model computes: with it taken back the logprobs are the same.
func TestGainChangesNothing(t *testing.T) {
	plain := t.TempDir()
	if err := os.CopyFS(plain, os.DirFS(llamaFolder)); err != nil {
		t.Fatal(err)
	}
	const file = "model.safetensors"
	if err := scaleLinears(filepath.Join(llamaFolder, file), filepath.Join(plain, file), 1.0/llamaGain); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(llamaFolder)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPrompts()
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.render("Dan starts with 3 beads. Dan finds 15 beads. How many beads does Dan have now?",
		time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	tokens := tok.Encode(text+"<think>3+15=18</think><answer>18</answer><|eot_id|>", false)
	shipped, back := logprobs(t, llamaFolder, tokens), logprobs(t, plain, tokens)
	for i := range shipped {
		if math.Float32bits(shipped[i]) != math.Float32bits(back[i]) {
			t.Fatalf("token %d: logprob %v with the gain, %v without", i, shipped[i], back[i])
		}
	}
	again := filepath.Join(t.TempDir(), file)
	if err := scaleLinears(filepath.Join(plain, file), again, llamaGain); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read(t, again), read(t, filepath.Join(llamaFolder, file))) {
		t.Error("the gain taken back and given again makes other weights")
	}
	raised, err := safetensors.Open(again)
	if err != nil {
		t.Fatal(err)
	}
	defer raised.Close()
	norm, err := raised.Tensor("model.layers.0.input_layernorm.weight")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := norm.Floats(); err != nil || f[0] < llamaGain/8 {
		t.Errorf("the first norm's weights begin with %v (%v), want some %d", f[0], err, llamaGain)
	}
}

// logprobs are the model's of each token after the first.
func logprobs(t *testing.T, folder string, tokens []int32) []float32 {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Models: map[string]engine.Model{"m": {Dir: folder}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: "m"})
	if err != nil {
		t.Fatal(err)
	}
	params := tinker.DefaultSampling()
	params.MaxTokens, params.Seed = 1, new(uint64)
	f, err := s.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text(tokens), NumSamples: 1, Params: params,
		PromptLogprobs: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.PromptLogprobs[1:]
}
