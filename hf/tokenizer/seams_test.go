package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// ofPieces are the tokenizers of testdata whose models merge characters.
func ofPieces(tb testing.TB) map[string]*Tokenizer {
	all := make(map[string]*Tokenizer)
	for _, name := range names(tb) {
		if tok := load(tb, name); tok.pieces != nil {
			all[name] = tok
		}
	}
	if len(all) < 6 {
		tb.Fatalf("only %d tokenizers of pieces", len(all))
	}
	return all
}

// A text cut at seams has the ids of the whole, whatever characters meet: known to the model, without a token, one that
// a rule joins with a marker.
func TestSeams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	bits := []string{"▁", "▁", "▁", "▁▁", "a", "d", "the", "d▁the", ">", "</", "▁</", "é", "世", "🙂", "\n", "\xff",
		"<unk>", "<0x0A>", "sold"}
	for name, tok := range ofPieces(t) {
		last := tok.splitters[len(tok.splitters)-1]
		cuts := 0
		for range 3000 {
			var b strings.Builder
			for range 1 + r.IntN(30) {
				b.WriteString(bits[r.IntN(len(bits))])
			}
			var got []int32
			words := last.split(nil, b.String())
			for _, word := range words {
				got = tok.model.encode(got, word)
			}
			cuts += len(words) - 1
			want := tok.model.encode(nil, b.String())
			if !slices.Equal(got, want) || strings.Join(words, "") != b.String() {
				t.Fatalf("%s: %q cut to %q is %q, want %q", name, b.String(), words, spellings(tok, got),
					spellings(tok, want))
			}
		}
		if cuts == 0 {
			t.Errorf("%s: no text was cut", name)
		}
	}
}

// A rule that joins what has not its text's spelling with a marker leaves no seams, nor does a marker without a token
// or an id with two spellings.
func TestNoSeams(t *testing.T) {
	const head = `{"decoder":{"type":"Sequence","decoders":[` +
		`{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},` +
		`"model":{"type":"BPE","unk_token":"?","fuse_unk":true,"byte_fallback":true,"vocab":`
	for _, c := range []struct{ vocab, text, want string }{
		{`{"?":0,"▁":1,"a":2,"▁a":3},"merges":["▁ a"]`, "▁a▁a▁▁", "▁a|▁a|▁|▁"},
		{`{"?":0,"▁":1,"a":2,"a▁":3},"merges":["a ▁"]`, "a▁ab▁a▁", "a▁ab|▁a▁"},
		{`{"?":0,"▁":1,"?▁":2},"merges":["? ▁"]`, "b▁b", "b▁b"},
		{`{"?":0,"▁":1,"<0x62>":2,"<0x62>▁":3},"merges":["<0x62> ▁"]`, "b▁b", "b▁b"},
		{`{"?":0,"a":1},"merges":[]`, "b▁b", "b▁b"},
		{`{"?":0,"▁":1,"a":2,"b":2},"merges":[]`, "a▁a", "a▁a"},
	} {
		tok, err := Parse([]byte(head + c.vocab + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(tok.splitters[0].split(nil, c.text), "|"); got != c.want {
			t.Errorf("%s: %q is cut to %q, want %q", c.vocab, c.text, got, c.want)
		}
	}
}

// Texts without a space, and of spaces alone, are merged in n log n steps: 256 KB in quadratic time would take many
// minutes, and end with the time limit of the tests.
func TestLongWords(t *testing.T) {
	tok := load(t, "gemma")
	for _, bit := range []string{"a", "sold", " ", "▁", "世", "🙂", "the\n", ">", "d the", "> <"} {
		text := strings.Repeat(bit, 1<<18/len(bit))
		ids := tok.Encode(text, false)
		if got, want := string(tok.DecodeBytes(ids, false)), strings.ReplaceAll(text, marker, " "); got != want {
			t.Errorf("256 KB of %q do not come back", bit)
		}
	}
}

// FuzzPieces checks that a text comes back from the ids of Gemma's way, with spaces for its markers, as bytes and in a
// stream, and that words remembered and seams make no difference.
func FuzzPieces(f *testing.F) {
	seeds(f)
	for i, g := range goldens(f, "gemma") {
		if g.Text != nil && i%8 == 0 {
			f.Add(*g.Text)
		}
	}
	all := []*Tokenizer{load(f, "gemma"), load(f, "gemmaruns")}
	whole := []*Tokenizer{load(f, "gemma"), load(f, "gemmaruns")}
	for _, tok := range whole {
		tok.splitters[len(tok.splitters)-1] = splitter{next: func(s string) int { return len(s) }}
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.ReplaceAll(s, marker, " ")
		for i, tok := range all {
			ids := tok.Encode(s, false)
			if got := string(tok.DecodeBytes(ids, false)); got != want {
				t.Fatalf("%q comes back as %q", s, got)
			}
			if got := tok.Decode(ids, false); got != stream(tok, ids) || utf8.ValidString(s) && got != want {
				t.Fatalf("%q decodes to %q, in a stream to %q", s, got, stream(tok, ids))
			}
			if again := tok.Encode(s, false); !slices.Equal(ids, again) {
				t.Fatalf("%q is %v, then %v", s, ids, again)
			}
			if again := whole[i].Encode(s, false); !slices.Equal(ids, again) {
				t.Fatalf("%q is %q, as one word %q", s, spellings(tok, ids), spellings(tok, again))
			}
		}
	})
}
