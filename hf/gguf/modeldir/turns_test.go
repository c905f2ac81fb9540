package modeldir

import (
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// The tokens around turns are control tokens and end answers even if a file calls them normal or the user's, as
// google's of Gemma 3 with quantisation-aware training do. Others stay what the file says.
func TestTurnsOfOtherTypes(t *testing.T) {
	const ordinary = "<|the|>"
	for _, kind := range []int32{tokenNormal, tokenUser} {
		keys := gguftest.Gemma(append(slices.Clone(pieces), ordinary)...)
		var names []string
		for _, k := range keys {
			if k.Key == "tokenizer.ggml.tokens" {
				names = k.Value.([]string)
			}
		}
		for _, k := range keys {
			if k.Key == "tokenizer.ggml.token_type" {
				types := k.Value.([]int32)
				types[slices.Index(names, "<end_of_turn>")] = kind
				types[slices.Index(names, startOfTurn)] = tokenNormal
			}
		}
		dir, err := folder(t, gguftest.Model{Arch: "gemma3", Vocabulary: keys})
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		start, end := int32(slices.Index(names, startOfTurn)), int32(slices.Index(names, "<end_of_turn>"))
		ids := tok.Encode(startOfTurn+"the"+"<end_of_turn>", false)
		if len(ids) < 3 || ids[0] != start || ids[len(ids)-1] != end || !tok.IsSpecial(start) || !tok.IsSpecial(end) {
			t.Errorf("type %d: a turn is %v", kind, ids)
		}
		for _, text := range []string{"<s>", ordinary} {
			if id, ok := tok.TokenID(text); !ok || tok.IsSpecial(id) {
				t.Errorf("type %d: %s is special, or no token: %v", kind, text, ok)
			}
		}
		want := []any{1.0, float64(end)}
		if ends, _ := readJSON(t, dir, "config.json")["eos_token_id"].([]any); !slices.Equal(ends, want) {
			t.Errorf("type %d: eos_token_id is %v, want %v", kind, ends, want)
		}
	}
}

// endsOf is eos_token_id of a file of a folder, as texts.
func endsOf(t *testing.T, dir, file string, names []string) (list []string) {
	t.Helper()
	ends := readJSON(t, dir, file)["eos_token_id"]
	if one, ok := ends.(float64); ok {
		return []string{names[int(one)]}
	}
	for _, id := range ends.([]any) {
		list = append(list, names[int(id.(float64))])
	}
	return list
}

// Every control token at which llama.cpp ends an answer does so: generation_config.json names them all, and config.json
// stays as it was. A token of another type becomes one by its name, except for </s> and the ones around code.
func TestEndsByName(t *testing.T) {
	for _, tt := range []struct {
		kind int32
		add  []string
		keys []gguf.Pair
		want []string
	}{
		{tokenControl, []string{"<|ok|>"}, nil, []string{"<|im_end|>", "<|endoftext|>"}},
		{tokenControl, []string{"<|end|>", "[e~[", "<turn|>"}, nil,
			[]string{"<|im_end|>", "<|end|>", "<|endoftext|>", "<turn|>", "[e~["}},
		{tokenControl, []string{"<|end|>", "<|return|>", "<|call|>"}, nil,
			[]string{"<|im_end|>", "<|endoftext|>", "<|return|>", "<|call|>"}},
		{tokenControl, []string{"<|end|>", "<|flush|>", "<|calls|>"}, nil,
			[]string{"<|im_end|>", "<|endoftext|>", "<|flush|>", "<|calls|>"}},
		{tokenControl, []string{"<|fim_pad|>", "</s>"}, nil,
			[]string{"<|im_end|>", "<|endoftext|>", "</s>", "<|fim_pad|>"}},
		{tokenNormal, []string{"<|fim_pad|>", "</s>", "<|end_of_text|>"}, nil,
			[]string{"<|im_end|>", "<|endoftext|>", "<|end_of_text|>"}},
		{tokenControl, []string{"<|done|>"}, []gguf.Pair{{Key: "tokenizer.ggml.eom_token_id", Value: uint32(1)}},
			[]string{"<|im_end|>", "<|endoftext|>", "<|im_start|>"}},
	} {
		keys := gguftest.Bytes()
		var names []string
		for i, k := range keys {
			switch k.Key {
			case "tokenizer.ggml.tokens":
				names = append(slices.Clone(k.Value.([]string)), tt.add...)
				keys[i].Value = names
			case "tokenizer.ggml.token_type":
				keys[i].Value = append(slices.Clone(k.Value.([]int32)), slices.Repeat([]int32{tt.kind}, len(tt.add))...)
			}
		}
		dir, err := folder(t, gguftest.Model{Arch: "llama", Vocabulary: append(keys, tt.keys...)})
		if err != nil {
			t.Fatal(err)
		}
		if got := endsOf(t, dir, "generation_config.json", names); !slices.Equal(got, tt.want) {
			t.Errorf("type %d, %q: ends are %q, want %q", tt.kind, tt.add, got, tt.want)
		}
		if got := endsOf(t, dir, "config.json", names); !slices.Equal(got, []string{"<|im_end|>"}) {
			t.Errorf("type %d, %q: config.json has %q", tt.kind, tt.add, got)
		}
	}
}
