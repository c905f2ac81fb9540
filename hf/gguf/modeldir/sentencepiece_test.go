package modeldir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// pieces is a small vocabulary, best first: merges of letters and of the marker of a space.
var pieces = []string{"▁t", "he", "in", "▁a", "▁the", "er", "▁w", "hat", "or", "th", "▁what", "▁▁", "▁▁▁▁", "ing", "an",
	"▁an", "▁t", "h", "e", "i", "n", "r", "o", "w", "a", "t", "g", "d", "▁", ".", "é", "世", "界", "世界"}

// vocabularyOf are the keys of pieces and of special tokens.
func vocabularyOf(keys ...gguf.Pair) []gguf.Pair {
	seen := map[string]bool{}
	list := slices.DeleteFunc(slices.Clone(pieces), func(p string) bool {
		defer func() { seen[p] = true }()
		return seen[p]
	})
	return append(gguftest.Pieces(list...), keys...)
}

func load(t *testing.T, m gguftest.Model) *tokenizer.Tokenizer {
	t.Helper()
	dir, err := folder(t, m)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// reference tokenises as llm_tokenizer_spm of llama.cpp does, written down plainly: of all neighbours whose texts
// together are a token, those with the highest score are merged, the leftmost of several.
type reference struct {
	tokens []string
	scores []float32
	ids    map[string]int32
	prefix bool
}

func newReference(vocabulary []gguf.Pair, prefix bool) reference {
	r := reference{ids: map[string]int32{}, prefix: prefix}
	for _, p := range vocabulary {
		switch p.Key {
		case "tokenizer.ggml.tokens":
			r.tokens, _ = p.Value.([]string)
		case "tokenizer.ggml.scores":
			r.scores, _ = p.Value.([]float32)
		}
	}
	for id, s := range r.tokens {
		r.ids[s] = int32(id)
	}
	return r
}

func (r reference) encode(text string) (ids []int32) {
	if text == "" {
		return nil
	}
	if r.prefix {
		text = " " + text
	}
	var symbols []string
	for _, c := range strings.ReplaceAll(text, " ", marker) {
		symbols = append(symbols, string(c))
	}
	for {
		best, at := float32(0), -1
		for i := 1; i < len(symbols); i++ {
			id, ok := r.ids[symbols[i-1]+symbols[i]]
			if ok && (at < 0 || r.scores[id] > best) {
				best, at = r.scores[id], i
			}
		}
		if at < 0 {
			break
		}
		symbols[at-1] += symbols[at]
		symbols = slices.Delete(symbols, at, at+1)
	}
	for _, s := range symbols {
		if id, ok := r.ids[s]; ok {
			ids = append(ids, id)
			continue
		}
		for _, b := range []byte(s) {
			ids = append(ids, r.ids[fmt.Sprintf("<0x%02X>", b)])
		}
	}
	return ids
}

// The ids are the reference's, with and without a space put in front, for texts of the vocabulary's pieces, of
// other characters and of runs of spaces; and the text comes back.
func TestSentencePiece(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, prefix := range []bool{true, false} {
		keys := vocabularyOf(gguf.Pair{Key: "tokenizer.ggml.add_space_prefix", Value: prefix})
		tok := load(t, gguftest.Model{Arch: "llama", Vocabulary: keys})
		ref := newReference(keys, prefix)
		bits := append(slices.Clone(pieces), "x", "ß", "\n", "\t", "😀", " ", "  ", "   ", "the", "what")
		for range 2000 {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteString(strings.ReplaceAll(bits[r.IntN(len(bits))], marker, " "))
			}
			text := b.String()
			if got, want := tok.Encode(text, false), ref.encode(text); !slices.Equal(got, want) {
				t.Fatalf("prefix %v: %q is %v, want %v", prefix, text, got, want)
			}
			if got := tok.Decode(tok.Encode(text, false), true); got != text {
				t.Fatalf("prefix %v: %q came back as %q", prefix, text, got)
			}
		}
	}
}

// The first token is put in front unless the file says otherwise; control tokens are special, the user's are not, and
// both are found in a text. After each the space is put in front again, as llama.cpp does.
func TestSpecialTokens(t *testing.T) {
	keys := vocabularyOf()
	for i, p := range keys {
		switch list := p.Value.(type) {
		case []string:
			keys[i].Value = append(list, "[INST]", "<tool>")
		case []int32:
			keys[i].Value = append(list, 3, 4)
		case []float32:
			keys[i].Value = append(list, 0, 0)
		}
	}
	tok := load(t, gguftest.Model{Arch: "llama", Vocabulary: keys})
	id := func(name string) int32 {
		n, ok := tok.TokenID(name)
		if !ok {
			t.Fatalf("no token %q", name)
		}
		return n
	}
	got := tok.Encode("the[INST]the<tool>the", true)
	the := id("▁the")
	if want := []int32{1, the, id("[INST]"), the, id("<tool>"), the}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !tok.IsSpecial(id("[INST]")) || tok.IsSpecial(id("<tool>")) || !tok.IsSpecial(1) {
		t.Error("control tokens are special, the user's are not")
	}
	off := load(t, gguftest.Model{Arch: "llama", Vocabulary: keys, Keys: []gguf.Pair{
		{Key: "tokenizer.ggml.add_bos_token", Value: false}, {Key: "tokenizer.ggml.add_eos_token", Value: true}}})
	if got, want := off.Encode("the", true), []int32{the, 2}; !slices.Equal(got, want) {
		t.Errorf("without the first and with the last token: %v, want %v", got, want)
	}
}

// withRuns are the keys of pieces and of runs of spaces that have one score, as Llama 2's and Mistral's own files have
// them: lengths in the order of their ids.
func withRuns(lengths ...int) []gguf.Pair {
	keys := vocabularyOf()
	for i, p := range keys {
		switch list := p.Value.(type) {
		case []string:
			list = slices.DeleteFunc(list, func(s string) bool { return s != marker && runOf(s) == marker })
			for _, n := range lengths {
				list = append(list, strings.Repeat(marker, n))
			}
			keys[i].Value = list
		}
	}
	for i, p := range keys {
		tokens := keys[1].Value.([]string)
		switch p.Key {
		case "tokenizer.ggml.token_type":
			types := slices.Repeat([]int32{tokenNormal}, len(tokens))
			copy(types, p.Value.([]int32)[:259])
			keys[i].Value = types
		case "tokenizer.ggml.scores":
			scores := make([]float32, len(tokens))
			for id := range scores[259:] {
				scores[259+id] = -float32(id)
				if runOf(tokens[259+id]) == marker {
					scores[259+id] = -1e9
				}
			}
			keys[i].Value = scores
		}
	}
	return keys
}

// Runs of spaces with one score have llama.cpp's ids at any length, in the order of ids of Mistral's file. Another
// order, of which no list of merges has these ids, is refused.
func TestRunsOfOneScore(t *testing.T) {
	keys := withRuns(2, 4, 8, 5, 16, 6, 12, 13, 10, 14, 3, 9, 7, 11)
	tok, ref := load(t, gguftest.Model{Arch: "llama", Vocabulary: keys}), newReference(keys, true)
	for n := range 100 {
		for _, text := range []string{strings.Repeat(" ", n), "a" + strings.Repeat(" ", n) + "the"} {
			if got, want := tok.Encode(text, false), ref.encode(text); !slices.Equal(got, want) {
				t.Fatalf("%d spaces: %v, want %v", n, got, want)
			}
		}
	}
	_, err := folder(t, gguftest.Model{Arch: "llama", Vocabulary: withRuns(3, 2, 4)})
	if err == nil || !strings.Contains(err.Error(), "llama.cpp cuts a run of") {
		t.Errorf("runs in another order: %v", err)
	}
}

// Scores that do not say which merge comes first are refused.
func TestScoresRefused(t *testing.T) {
	scores := func(change func([]float32)) []gguf.Pair {
		for _, p := range vocabularyOf() {
			if list, ok := p.Value.([]float32); ok {
				change(list)
				return []gguf.Pair{{Key: p.Key, Value: list}}
			}
		}
		return nil
	}
	for _, tt := range []struct {
		want string
		keys []gguf.Pair
	}{
		{`tokens "▁t" and "he" have one score, -1000`, scores(func(s []float32) {
			for i := range s {
				s[i] = -1000
			}
		})},
		{"tokenizer.ggml.scores has 1 entries", []gguf.Pair{{Key: "tokenizer.ggml.scores", Value: []float32{1}}}},
		{"tokenizer.ggml.scores has 0 entries", []gguf.Pair{{Key: "tokenizer.ggml.scores"}}},
	} {
		_, err := folder(t, gguftest.Model{Arch: "llama", Vocabulary: vocabularyOf(), Keys: tt.keys})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

// A tokenizer.json in the metadata is taken as it is.
func TestGivenTokenizer(t *testing.T) {
	dir, err := folder(t, gguftest.Model{Arch: "llama"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	given := strings.Replace(string(made), `"individual_digits": true`, `"individual_digits": false`, 1)
	keys := []gguf.Pair{{Key: "tokenizer.huggingface.json", Value: given},
		{Key: "tokenizer.ggml.pre", Value: "a way of its own"}}
	dir, err = folder(t, gguftest.Model{Arch: "llama", Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "tokenizer.json")); err != nil || string(got) != given {
		t.Errorf("tokenizer.json is not the given one, %v", err)
	}
	keys[0].Value = "{}"
	if _, err = folder(t, gguftest.Model{Arch: "llama", Keys: keys}); err == nil ||
		!strings.Contains(err.Error(), "the file's tokenizer cannot be used") {
		t.Errorf("a tokenizer.json that is none: %v", err)
	}
}
