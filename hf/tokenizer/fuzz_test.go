package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds adds the texts of the goldens to a fuzz test.
func seeds(f *testing.F) {
	for _, g := range goldens(f, "odd") {
		if g.Text != nil {
			f.Add(*g.Text)
		}
	}
	f.Add("\xff\xfe a\xc3")
}

// FuzzSplit compares the hand-written scanners with the regular expressions
// they stand for.
func FuzzSplit(f *testing.F) {
	seeds(f)
	type pattern struct {
		text   string
		next   scanner
		search func(string) []span
	}
	var all []pattern
	for _, text := range []string{patternGPT2, patternLlama3, patternQwen2} {
		re, err := compile(text)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, pattern{text, known(text), func(s string) []span { return matches(s, re) }})
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range all {
			at := 0
			for _, want := range p.search(s) {
				if n := p.next(s[at:]); at != want.start || at+n != want.end {
					t.Fatalf("%s\nin %q at %d: length %d, want %d..%d", p.text, s, at, n, want.start, want.end)
				}
				at = want.end
			}
			if at != len(s) {
				t.Fatalf("%s ends at %d of %q", p.text, at, s)
			}
		}
	})
}

// FuzzRoundTrip checks that without a normalizer all bytes come back, that the
// stream of a Decoder is the text, and that words remembered make no difference.
func FuzzRoundTrip(f *testing.F) {
	seeds(f)
	tok := []*Tokenizer{load(f, "llama3"), load(f, "gpt2"), load(f, "falcon"), load(f, "deepseek")}
	f.Fuzz(func(t *testing.T, s string) {
		for _, tok := range tok {
			ids := tok.Encode(s, false)
			if got := string(tok.DecodeBytes(ids, false)); got != s {
				t.Fatalf("%q comes back as %q", s, got)
			}
			if got, want := stream(tok, ids), tok.Decode(ids, false); got != want || utf8.ValidString(s) && got != s {
				t.Fatalf("stream of %q is %q, Decode gives %q", s, got, want)
			}
			if again := tok.Encode(s, false); !slices.Equal(ids, again) {
				t.Fatalf("%q is %v, then %v", s, ids, again)
			}
		}
	})
}

// FuzzParse checks that no file makes Parse or what it returns panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},` +
		`"merges":["a b"]},"added_tokens":[{"id":9,"content":"<s>","rstrip":true,"lstrip":true}]}`))
	f.Add([]byte(`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"a+"},` +
		`"behavior":"MergedWithNext"},{"type":"ByteLevel"}]},"normalizer":{"type":"NFC"},"model":{"vocab":{"a":0}}}`))
	f.Add([]byte(`{"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"},` +
		`"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},` +
		`{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},` +
		`"model":{"type":"BPE","byte_fallback":true,"vocab":{"<0x0A>":0,"a":1,"▁":2,"▁a":3},"merges":["▁ a"]}}`))
	f.Add([]byte(`{"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},` +
		`"pre_tokenizer":{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious"},` +
		`"decoder":{"type":"Sequence","decoders":[` +
		`{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},` +
		`"added_tokens":[{"id":5,"content":"▁▁","normalized":true}],"model":{"type":"BPE","byte_fallback":true,` +
		`"fuse_unk":true,"unk_token":"<unk>","vocab":{"<0x0A>":0,"a":1,"▁":2,"▁a":3,"<unk>":4,"▁▁":5,"a▁a":6},` +
		`"merges":["▁ ▁","▁ a","a ▁a"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip()
		}
		tok, err := Parse(data)
		if err != nil {
			return
		}
		tok.Decode(tok.Encode("ab <s> ab\n"+strings.Repeat("a", 50), true), false)
	})
}

// TestMergeHeap compares the merging of long words with the merging of short ones.
func TestMergeHeap(t *testing.T) {
	model := load(t, "qwen2").model
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		word := make([]byte, 1+rnd.IntN(120))
		for i := range word {
			word[i] = "aeinorst "[rnd.IntN(9)]
		}
		scan := model.symbols(nil, string(word))
		byHeap := slices.Clone(scan)
		scan = scan[:model.mergeScan(scan)]
		byHeap = byHeap[:model.mergeHeap(byHeap)]
		if !slices.Equal(scan, byHeap) {
			t.Fatalf("%q: heap gives %v, scan %v", word, byHeap, scan)
		}
	}
}
