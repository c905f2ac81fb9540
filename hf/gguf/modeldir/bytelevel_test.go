package modeldir

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

// Each way to cut words that is supported makes a tokenizer that gives a text back.
func TestPreTokenizers(t *testing.T) {
	const text = "Hello, the 1234 thé's\r\n\n  世界 ñandú DON'T x=y; `q`  "
	names := 0
	for name := range preTokenizers() {
		names++
		tok := load(t, gguftest.Model{Arch: "llama", Keys: []gguf.Pair{{Key: "tokenizer.ggml.pre", Value: name}}})
		if got := tok.Decode(tok.Encode(text, false), true); got != text {
			t.Errorf("%s: %q came back", name, got)
		}
	}
	if names < 40 {
		t.Errorf("%d names", names)
	}
}

// Numbers are cut as the name says: counts of tokens, where the one merge of digits is 1 2.
func TestDigits(t *testing.T) {
	for pre, want := range map[string][2]int{"smollm": {4, 4}, "gpt-2": {3, 2}, "llama-bpe": {3, 3}, "qwen2": {4, 4},
		"deepseek-llm": {3, 2}, "gpt-4o": {3, 3}, "seed-coder": {4, 4}, "minicpm5": {3, 3}, "superbpe": {4, 3},
		"poro-chat": {3, 2}, "viking": {4, 4}} {
		tok := load(t, gguftest.Model{Arch: "llama", Keys: []gguf.Pair{{Key: "tokenizer.ggml.pre", Value: pre}}})
		got := [2]int{len(tok.Encode("1234", false)), len(tok.Encode("1212", false))}
		if got != want {
			t.Errorf("%s: 1234 and 1212 are %v tokens, want %v", pre, got, want)
		}
	}
}

// What tokenizer_config.json and config.json say of special tokens and templates.
func TestSettings(t *testing.T) {
	dir, err := folder(t, gguftest.Model{Arch: "qwen3", Keys: []gguf.Pair{
		{Key: "tokenizer.ggml.eot_token_id", Value: uint32(0)}, {Key: "tokenizer.ggml.padding_token_id",
			Value: uint32(0)},
		{Key: "tokenizer.chat_templates", Value: []string{"tool_use"}},
		{Key: "tokenizer.chat_template.tool_use", Value: "with tools"}}})
	if err != nil {
		t.Fatal(err)
	}
	conf := readJSON(t, dir, "tokenizer_config.json")
	if conf["tokenizer_class"] != "PreTrainedTokenizerFast" || conf["bos_token"] != "<|im_start|>" ||
		conf["eos_token"] != "<|im_end|>" ||
		conf["pad_token"] != "<|endoftext|>" || conf["unk_token"] != nil {
		t.Errorf("tokenizer_config.json is %v", conf)
	}
	list, _ := conf["chat_template"].([]any)
	if len(list) != 2 || !strings.Contains(fmt.Sprint(list[1]), "with tools") {
		t.Errorf("chat templates %v", conf["chat_template"])
	}
	if ends, _ := readJSON(t, dir, "config.json")["eos_token_id"].([]any); !slices.Equal(ends, []any{2.0, 0.0}) {
		t.Errorf("eos_token_id is %v", ends)
	}
}
