package modeldir

import (
	"slices"
	"testing"

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
