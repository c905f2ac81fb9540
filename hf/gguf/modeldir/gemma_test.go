package modeldir

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

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
	keys := gguftest.Gemma(pieces...)
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
