package modeldir

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

// gemma is a vocabulary of the shape of Gemma 3's: special tokens in another order than Llama's, runs of newlines,
// spaces and tabs and tags of HTML that are the user's, all with one score, tokens of bytes, and pieces, of which one
// has a marker inside.
func gemma() []gguf.Pair {
	var tokens []string
	var types []int32
	var scores []float32
	add := func(kind int32, score float32, list ...string) {
		for _, s := range list {
			tokens, types, scores = append(tokens, s), append(types, kind), append(scores, score)
		}
	}
	add(tokenControl, -1000, "<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>")
	for n := range 31 {
		add(tokenUser, -1000, strings.Repeat("\n", n+1), strings.Repeat(" ", n+2), strings.Repeat("\t", n+1))
	}
	add(tokenUser, -1000, "<table>", "</table>", "<h1>", "</h1>", "<s>", "<sub>")
	for b := range 256 {
		add(6, -1000, fmt.Sprintf("<0x%02X>", b))
	}
	for i, s := range append([]string{"▁</", ">▁</", "</", "he", "in", "▁t", "▁a", "er", "▁the"}, pieces...) {
		if !slices.Contains(tokens, s) && strings.Trim(s, marker) != "" {
			add(tokenNormal, -float32(i), s)
		}
	}
	add(tokenNormal, -500, marker, "<", "/", ">")
	return []gguf.Pair{{Key: "tokenizer.ggml.model", Value: "llama"}, {Key: "tokenizer.ggml.pre", Value: "default"},
		{Key: "tokenizer.ggml.tokens", Value: tokens}, {Key: "tokenizer.ggml.token_type", Value: types},
		{Key: "tokenizer.ggml.scores", Value: scores}, {Key: "tokenizer.ggml.bos_token_id", Value: uint32(2)},
		{Key: "tokenizer.ggml.eos_token_id", Value: uint32(1)},
		{Key: "tokenizer.ggml.unknown_token_id", Value: uint32(3)},
		{Key: "tokenizer.ggml.padding_token_id", Value: uint32(0)}, {Key: "tokenizer.ggml.add_bos_token", Value: true},
		{Key: "tokenizer.ggml.add_eos_token", Value: false}, {Key: "tokenizer.ggml.add_space_prefix", Value: false}}
}

// cutting is the reference with what llama.cpp cuts out first: of the special and the user's tokens the longest, where
// it is first, and then the others in what is left.
func (r reference) cutting(text string, cut []string) (ids []int32) {
	for i, s := range cut {
		if before, after, found := strings.Cut(text, s); found {
			ids = append(r.cutting(before, cut[i+1:]), r.ids[s])
			return append(ids, r.cutting(after, cut[i:])...)
		}
	}
	return r.encode(text)
}

// Texts have the ids of the reference: runs longer than the longest token, tags beside pieces, characters without a
// token. They come back, and <bos> is put in front.
func TestGemma(t *testing.T) {
	keys := gemma()
	tok := load(t, gguftest.Model{Arch: "llama", Vocabulary: keys})
	ref := newReference(keys, false)
	var cut []string
	for _, s := range ref.tokens {
		if ref.ids[s] < ref.ids["<0x00>"] {
			cut = append(cut, s)
		}
	}
	slices.SortStableFunc(cut, func(a, b string) int { return len(b) - len(a) })
	r := rand.New(rand.NewPCG(3, 8))
	bits := append(slices.Clone(cut), pieces...)
	bits = append(bits, "x", "ß", "😀", " ", " ", " ", "the", "> </", ">", "<", "\x00", "<0x0A>", "<mas")
	for range 3000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(strings.ReplaceAll(bits[r.IntN(len(bits))], marker, " "))
		}
		text := b.String()
		got, want := tok.Encode(text, false), ref.cutting(text, cut)
		if !slices.Equal(got, want) {
			t.Fatalf("%q is %v, want %v", text, got, want)
		}
		if back := tok.Decode(got, false); back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
		if begun := tok.Encode(text, true); !slices.Equal(begun, append([]int32{2}, got...)) {
			t.Fatalf("%q begins as %v", text, begun)
		}
	}
}
