package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
)

// llamaVocab is the number of rows of the small Llama's embedding: 256 bytes, merges, 256 special tokens.
const llamaVocab = 1024

// llamaTemplate is the chat template of Llama 3.2 as the guide's configurations give it.
//
//go:embed llama.jinja
var llamaTemplate string

// writeLlama writes the small Llama's folder but the weights, which the run of examples/llama/pretrain.yaml makes.
func writeLlama(o options) error {
	tree, err := llamaTokenizer(o.seed)
	if err != nil {
		return err
	}
	id := map[string]int{}
	for _, a := range tree["added_tokens"].([]addedToken) {
		id[a.Content] = a.ID
	}
	bos, end, pad := id["<|begin_of_text|>"], id["<|end_of_text|>"], id["<|finetune_right_pad_id|>"]
	for _, f := range []struct {
		name string
		tree map[string]any
	}{
		{"tokenizer.json", tree},
		{"tokenizer_config.json", map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>",
			"eos_token":     "<|end_of_text|>",
			"chat_template": llamaTemplate, "clean_up_tokenization_spaces": true, "model_max_length": 131072,
			"model_input_names": []string{"input_ids", "attention_mask"},
		}},
		{"config.json", llamaConfig(bos, end)},
		{"generation_config.json", map[string]any{
			"bos_token_id": bos, "eos_token_id": end, "pad_token_id": pad, "do_sample": true, "temperature": 0.6,
			"top_p": 0.9,
		}},
	} {
		if err := writeJSON(filepath.Join(o.out, f.name), f.tree); err != nil {
			return err
		}
	}
	return nil
}

// llamaConfig has the keys of Llama 3.2 3B, including rope scaling and tied embeddings, and a million parameters.
func llamaConfig(bos, end int) map[string]any {
	return map[string]any{
		"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "vocab_size": llamaVocab,
		"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4, "num_attention_heads": 4,
		"num_key_value_heads": 2,
		"head_dim":            32, "hidden_act": "silu", "rms_norm_eps": 1e-5, "max_position_embeddings": 131072,
		"rope_theta": 500000.0, "rope_scaling": map[string]any{"rope_type": "llama3", "factor": 32.0,
			"low_freq_factor":  1.0,
			"high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
		"tie_word_embeddings": true, "attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false,
		"pretraining_tp":    1,
		"initializer_range": 0.02, "use_cache": true, "torch_dtype": "bfloat16", "bos_token_id": bos,
		"eos_token_id": end,
	}
}

// llamaSpecials are Llama 3's 256 special tokens in its order.
func llamaSpecials() []addedToken {
	names := []string{"begin_of_text", "end_of_text", "reserved_special_token_0", "reserved_special_token_1",
		"finetune_right_pad_id",
		"reserved_special_token_2", "start_header_id", "end_header_id", "eom_id", "eot_id", "python_tag"}
	for n := 3; len(names) < 256; n++ {
		names = append(names, fmt.Sprintf("reserved_special_token_%d", n))
	}
	list := make([]addedToken, len(names))
	for i, n := range names {
		list[i] = addedToken{Content: "<|" + n + "|>", Special: true}
	}
	return list
}

// llamaTokenizer is trained on problems, their solutions and rendered prompts. It splits as Llama 3's does, but no
// merge joins digits.
func llamaTokenizer(seed uint64) (map[string]any, error) {
	prompt, err := newPrompts()
	if err != nil {
		return nil, err
	}
	c := corpus{}
	r := rand.New(rand.NewPCG(seed, 1<<35))
	for range corpusRows {
		p := newProblem(r)
		c.add(p.question, 1)
		c.add(p.solved(true).Response, 1)
		c.add(strings.Join(p.prose, "\n"), 1)
	}
	for month := range 12 {
		text, err := prompt.render("", time.Date(2024, time.Month(1+month), 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			return nil, err
		}
		for _, piece := range special.Split(text, -1) {
			c.add(piece, corpusRows/12)
		}
	}
	tree := trainTokenizer(c.preTokens(), llamaVocab, numbersSplit, llamaSpecials())
	likeLlama(tree)
	return tree, nil
}

// likeLlama gives a byte-level tokenizer.json the parts of Llama 3's around the vocabulary: no normalizer, whole words
// first, and <|begin_of_text|> before a text that is encoded with special tokens.
func likeLlama(tree map[string]any) {
	tree["normalizer"] = nil
	tree["model"].(map[string]any)["ignore_merges"] = true
	bos := tree["added_tokens"].([]addedToken)[0]
	first := map[string]any{"SpecialToken": map[string]any{"id": bos.Content, "type_id": 0}}
	text := func(id string, kind int) map[string]any {
		return map[string]any{"Sequence": map[string]any{"id": id, "type_id": kind}}
	}
	second := map[string]any{"SpecialToken": map[string]any{"id": bos.Content, "type_id": 1}}
	tree["post_processor"] = map[string]any{"type": "Sequence", "processors": []any{
		map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true},
		map[string]any{"type": "TemplateProcessing", "single": []any{first, text("A", 0)},
			"pair": []any{first, text("A", 0), second, text("B", 1)},
			"special_tokens": map[string]any{bos.Content: map[string]any{"id": bos.Content, "ids": []int{bos.ID},
				"tokens": []string{bos.Content}}}},
	}}
	tree["decoder"] = map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
		"use_regex": true}
}

// special is a special token as the template writes it.
var special = regexp.MustCompile(`<\|[a-z_]+\|>`)

// prompts renders what math_workflow asks with Llama 3.2's template.
type prompts struct {
	system string
	conf   *tokenizer.Config
}

func newPrompts() (prompts, error) {
	r, err := workflow.WithDefaults("math_workflow", workflow.Rollout{}, workflow.Own{})
	return prompts{r.SystemPrompt, &tokenizer.Config{BOSToken: "<|begin_of_text|>", EOSToken: "<|end_of_text|>"}}, err
}

// render is the prompt of a question on a date.
func (p prompts) render(question string, date time.Time) (string, error) {
	t, err := chat.New(llamaTemplate, p.conf, date)
	if err != nil {
		return "", err
	}
	return t.Render([]chat.Message{{Role: "system", Content: p.system}, {Role: "user", Content: question}},
		chat.Options{AddGenerationPrompt: true})
}

const (
	// llamaRows is the number of rows that llama-pretrain writes. The first llamaWorked of them are drills, and
	// problems worked step by step.
	llamaRows   = 76_800
	llamaWorked = 64_000
	// Of these, drillPercent are drills and fullPercent have the complete prompt. The others lack the system turn,
	// which is half of the tokens.
	drillPercent = 40
	fullPercent  = 12
)

// writeLlamaPretrain writes solved problems as train.jsonl. Each question is a complete prompt with a random date: the
// template writes today's date, and the model must not depend on it.
func writeLlamaPretrain(o options) error {
	prompt, err := newPrompts()
	if err != nil {
		return err
	}
	next := solutions(o.seed, llamaWorked)
	r := rand.New(rand.NewPCG(o.seed, 1<<36))
	row := 0
	var failed error
	err = writeRows(filepath.Join(o.out, "train.jsonl"), cmp.Or(o.rows, llamaRows), func() solved {
		s := next()
		if row <= llamaWorked && r.IntN(100) < drillPercent {
			s = newDrill(r)
			return solved{"<|begin_of_text|>" + s.Question + "\n", s.Response}
		}
		date := time.Date(2024, time.January, 1+r.IntN(20*365), 0, 0, 0, 0, time.UTC)
		text, err := prompt.render(s.Question, date)
		if err != nil {
			failed = err
		}
		if row++; row <= llamaWorked && r.IntN(100) >= fullPercent {
			text = withoutSystem(text)
		}
		return solved{text, s.Response}
	})
	return cmp.Or(failed, err)
}

// withoutSystem cuts the first turn out of a prompt.
func withoutSystem(prompt string) string {
	const begin, end = "<|begin_of_text|>", "<|eot_id|>"
	_, rest, _ := strings.Cut(prompt, end)
	return begin + rest
}
