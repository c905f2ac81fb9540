package gguftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// template is ChatML.
const template = `{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}` +
	`{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// Bytes is a byte-level vocabulary with a few merges, SmolLM's way of cutting words, and ChatML.
func Bytes() []gguf.Pair {
	var tokens []string
	types := []int32{3, 3, 3}
	tokens = append(tokens, "<|endoftext|>", "<|im_start|>", "<|im_end|>")
	next := rune(256)
	for b := range rune(256) { // GPT-2's alphabet: printable bytes are themselves, others follow 255
		r := b
		if b <= ' ' || b >= 0x7f && b <= 0xa0 || b == 0xad {
			r = next
			next++
		}
		tokens = append(tokens, string(r))
	}
	merges := []string{"t h", "th e", "Ġ a", "i n", "Ġ the", "e r", "1 2"}
	for _, m := range merges {
		tokens = append(tokens, strings.ReplaceAll(m, " ", ""))
	}
	for range len(tokens) - len(types) {
		types = append(types, 1)
	}
	return []gguf.Pair{{Key: "tokenizer.ggml.model", Value: "gpt2"}, {Key: "tokenizer.ggml.pre", Value: "smollm"},
		{Key: "tokenizer.ggml.tokens", Value: tokens}, {Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.merges", Value: merges}, {Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)}, {Key: "tokenizer.ggml.add_bos_token", Value: false},
		{Key: "tokenizer.chat_template", Value: template}}
}

// Pieces is a SentencePiece vocabulary with scores, in the way of Llama 2's: three special tokens, the tokens of bytes,
// and pieces whose scores fall by one each.
func Pieces(pieces ...string) []gguf.Pair {
	tokens, types := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3}
	scores := []float32{0, 0, 0}
	for b := range 256 {
		tokens, types, scores = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6), append(scores, 0)
	}
	for i, p := range pieces {
		tokens, types, scores = append(tokens, p), append(types, 1), append(scores, -float32(i))
	}
	return []gguf.Pair{{Key: "tokenizer.ggml.model", Value: "llama"}, {Key: "tokenizer.ggml.tokens", Value: tokens},
		{Key: "tokenizer.ggml.token_type", Value: types}, {Key: "tokenizer.ggml.scores", Value: scores},
		{Key: "tokenizer.ggml.bos_token_id", Value: uint32(1)}, {Key: "tokenizer.ggml.eos_token_id", Value: uint32(2)}}
}

// Gemma is a vocabulary of the shape of Gemma 3's: special tokens in another order than Llama's, runs of newlines,
// spaces and tabs and tags of HTML that are the user's, all with one score, tokens of bytes, and pieces, of which one
// has a "▁" inside.
func Gemma(pieces ...string) []gguf.Pair {
	var tokens []string
	var types []int32
	var scores []float32
	add := func(kind int32, score float32, list ...string) {
		for _, s := range list {
			tokens, types, scores = append(tokens, s), append(types, kind), append(scores, score)
		}
	}
	add(3, -1000, "<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>")
	for n := range 31 {
		add(4, -1000, strings.Repeat("\n", n+1), strings.Repeat(" ", n+2), strings.Repeat("\t", n+1))
	}
	add(4, -1000, "<table>", "</table>", "<h1>", "</h1>", "<s>", "<sub>")
	for b := range 256 {
		add(6, -1000, fmt.Sprintf("<0x%02X>", b))
	}
	for i, s := range append([]string{"▁</", ">▁</", "</", "he", "in", "▁t", "▁a", "er", "▁the"}, pieces...) {
		if !slices.Contains(tokens, s) && strings.Trim(s, "▁") != "" {
			add(1, -float32(i), s)
		}
	}
	add(1, -500, "▁", "<", "/", ">")
	return []gguf.Pair{{Key: "tokenizer.ggml.model", Value: "llama"}, {Key: "tokenizer.ggml.pre", Value: "default"},
		{Key: "tokenizer.ggml.tokens", Value: tokens}, {Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.scores", Value: scores}, {Key: "tokenizer.ggml.bos_token_id", Value: uint32(2)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(3)},
		{Key: "tokenizer.ggml.padding_token_id", Value: uint32(0)}, {Key: "tokenizer.ggml.add_bos_token", Value: true},
		{Key: "tokenizer.ggml.add_eos_token", Value: false}, {Key: "tokenizer.ggml.add_space_prefix", Value: false}}
}
