package gguftest

import (
	"fmt"
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
