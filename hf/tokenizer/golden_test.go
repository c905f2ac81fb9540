package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// golden is one text as Hugging Face tokenizers encodes and decodes it, see
// testdata/make.py. Without a text it is a list of ids to decode.
type golden struct {
	Text    *string
	IDs     []int32
	Special []int32
	Before  []int32 // in Special, of ids
	Decoded *string
	Skipped *string
}

// fill sets what the file leaves out: the same special tokens as without, except those before, text decoded
// to itself, nothing to skip.
func (g *golden) fill() {
	if g.Special == nil {
		g.Special = slices.Concat(g.Before, g.IDs)
	}
	if g.Decoded == nil {
		g.Decoded = g.Text
	}
	if g.Skipped == nil {
		g.Skipped = g.Decoded
	}
}

// names returns the tokenizers of testdata.
func names(tb testing.TB) (all []string) {
	paths, err := filepath.Glob("testdata/*.golden.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no goldens: %v", err)
	}
	for _, p := range paths {
		all = append(all, strings.TrimSuffix(filepath.Base(p), ".golden.json"))
	}
	return all
}

func load(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	t, err := Load("testdata/" + name + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func goldens(tb testing.TB, name string) (all []golden) {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + name + ".golden.json")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatal(err)
	}
	for i := range all {
		all[i].fill()
	}
	return all
}

func TestGolden(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			tok := load(t, name)
			for _, g := range goldens(t, name) {
				if g.Text != nil {
					if got := tok.Encode(*g.Text, false); !slices.Equal(got, g.IDs) {
						t.Errorf("Encode(%q) = %q, want %q", *g.Text, spellings(tok, got), spellings(tok, g.IDs))
					}
					if got := tok.Encode(*g.Text, true); !slices.Equal(got, g.Special) {
						t.Errorf("Encode(%q) with special tokens = %v, want %v", *g.Text, got, g.Special)
					}
				}
				if got := tok.Decode(g.IDs, false); got != *g.Decoded {
					t.Errorf("Decode(%q) = %q, want %q", spellings(tok, g.IDs), got, *g.Decoded)
				}
				if got := tok.Decode(g.IDs, true); got != *g.Skipped {
					t.Errorf("Decode(%q) without special tokens = %q, want %q", spellings(tok, g.IDs), got, *g.Skipped)
				}
				if got := stream(tok, g.IDs); got != *g.Decoded {
					t.Errorf("Decoder over %q = %q, want %q", spellings(tok, g.IDs), got, *g.Decoded)
				}
			}
		})
	}
}

func spellings(tok *Tokenizer, ids []int32) (all []string) {
	for _, id := range ids {
		all = append(all, tok.Token(id))
	}
	return all
}

func stream(tok *Tokenizer, ids []int32) string {
	var out strings.Builder
	d := tok.NewDecoder(false)
	for _, id := range ids {
		out.WriteString(d.Write(id))
	}
	out.WriteString(d.Flush())
	return out.String()
}
