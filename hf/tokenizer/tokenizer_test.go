package tokenizer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestTokens(t *testing.T) {
	tok := load(t, "qwen2")
	end, ok := tok.TokenID("<|im_end|>")
	if !ok || !tok.IsSpecial(end) || tok.Token(end) != "<|im_end|>" || string(tok.Bytes(end)) != "<|im_end|>" {
		t.Errorf("<|im_end|> is id %d, %v: special %v, token %q, bytes %q", end, ok, tok.IsSpecial(end), tok.Token(end),
			tok.Bytes(end))
	}
	if think, ok := tok.TokenID("<think>"); !ok || tok.IsSpecial(think) {
		t.Errorf("<think> is id %d, %v, special %v; want an added token that is not special", think, ok,
			tok.IsSpecial(think))
	}
	if id, ok := tok.TokenID("Ġ"); !ok || string(tok.Bytes(id)) != " " {
		t.Errorf("Bytes(Ġ) = %q, want a space", tok.Bytes(id))
	}
	if got, want := tok.VocabSize(), 905; got != want {
		t.Errorf("VocabSize = %d, want %d", got, want)
	}
	for _, id := range []int32{-1, int32(tok.VocabSize())} {
		if tok.Token(id) != "" || tok.Bytes(id) != nil || tok.IsSpecial(id) || tok.Decode([]int32{id}, false) != "" {
			t.Errorf("id %d is not a token, but has a spelling or bytes", id)
		}
	}
	if _, ok := tok.TokenID("no such token"); ok {
		t.Error("TokenID finds a token that does not exist")
	}
}

func TestByteAlphabet(t *testing.T) {
	for b, r := range byteAlphabet() {
		if got, ok := byteOf(r); !ok || got != byte(b) {
			t.Errorf("byteOf(%q) = %d, %v, want %d", r, got, ok, b)
		}
	}
	if got := spell(" \n\xad"); got != "ĠĊŃ" {
		t.Errorf("spell = %q, want ĠĊŃ", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	tok := load(t, "llama3")
	text := strings.Repeat("Natalia sold 48/2 = 24 clips.<|im_end|>\n", 50)
	want := tok.Encode(text, true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if got := tok.Encode(text, true); !slices.Equal(got, want) {
					t.Errorf("Encode gives %d ids beside others, %d alone", len(got), len(want))
				}
			}
		})
	}
	wg.Wait()
}

func TestRefusals(t *testing.T) {
	const pre = `"pre_tokenizer":{"type":"ByteLevel"}`
	const decoder = `"decoder":{"type":"Sequence","decoders":[` +
		`{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},`
	for _, c := range []struct{ name, file, want string }{
		{"unigram", `{` + pre + `,"model":{"type":"Unigram","vocab":[["a",-1.5]]}}`,
			`model type "Unigram" is not supported`},
		{"wordpiece", `{` + pre + `,"model":{"type":"WordPiece","vocab":{"a":0}}}`,
			`model type "WordPiece" is not supported`},
		{"not json", `{`, "not a tokenizer.json"},
		{"no vocab", `{` + pre + `,"model":{"type":"BPE"}}`, "no vocab"},
		{"bad vocab", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":"b"}}}`, "vocab of the BPE model"},
		{"bad id", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":-1}}}`, `token "a" has id -1`},
		{"huge id", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":2000000000}}}`, "outside 0..65551"},
		{"merge unknown", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}}`,
			`merge 0 ("a", "b")`},
		{"merge one", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]}}`,
			`merge "ab" has no space`},
		{"merge three", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","b","c"]]}}`,
			"merge of other than 2 parts"},
		{"suffix", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":0},"end_of_word_suffix":"</w>"}}`,
			`end_of_word_suffix "</w>"`},
		{"prefix", `{` + pre + `,"model":{"type":"BPE","vocab":{"a":0},"continuing_subword_prefix":"##"}}`,
			`continuing_subword_prefix "##"`},
		{"not byte level", `{"pre_tokenizer":{"type":"Digits"},"model":{"vocab":{"a":0}}}`, "has no ByteLevel"},
		{"no pre_tokenizer", `{"pre_tokenizer":null,"model":{"vocab":{"a":0}}}`, "no pre_tokenizer"},
		{"metaspace", `{"pre_tokenizer":{"type":"Metaspace"},"model":{"vocab":{"a":0}}}`,
			`pre_tokenizer "Metaspace" is not supported`},
		{"normalizer", `{` + pre + `,"normalizer":{"type":"BertNormalizer"},"model":{"vocab":{"a":0}}}`,
			`normalizer "BertNormalizer" is not supported`},
		{"pieces of bytes", `{` + decoder + `"pre_tokenizer":{"type":"Sequence","pretokenizers":[` +
			`{"type":"ByteLevel"}]},"model":{"vocab":{"a":0}}}`,
			`pre_tokenizer "ByteLevel" is not supported beside the decoder ByteFallback`},
		{"replacement", `{` + decoder + `"pre_tokenizer":{"type":"Metaspace","replacement":"_"},` +
			`"model":{"vocab":{"a":0}}}`, `Metaspace with the replacement "_" is not supported; with ▁ it is`},
		{"regex", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated"},` +
			`"model":{"vocab":{"a":0}}}`, `pattern "("`},
		{"behavior", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},"behavior":"Odd"},` +
			`"model":{"vocab":{"a":0}}}`, `split behavior "Odd"`},
		{"decoder", `{` + pre + `,"decoder":{"type":"WordPiece"},"model":{"vocab":{"a":0}}}`,
			`decoder "WordPiece" is not supported`},
		{"post", `{` + pre + `,"post_processor":{"type":"Odd"},"model":{"vocab":{"a":0}}}`,
			`post_processor "Odd" is not supported`},
		{"template", `{` + pre + `,"post_processor":{"type":"TemplateProcessing",` +
			`"single":[{"SpecialToken":{"id":"<s>"}}]},"model":{"vocab":{"a":0}}}`, `post_processor uses "<s>"`},
	} {
		_, err := Parse([]byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "tokenizer: ") {
			t.Errorf("%s: Parse = %v, want tokenizer: ...%s", c.name, err, c.want)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("Load of an empty folder = %v, want an error that names tokenizer.json", err)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name, file, jinja string
		want              Config
	}{
		{name: "none", want: Config{}},
		{
			name: "strings",
			file: `{"chat_template":"{{ x }}","bos_token":null,"eos_token":"<|im_end|>","pad_token":"<pad>",` +
				`"additional_special_tokens":["<a>",{"content":"<b>"}]}`,
			want: Config{ChatTemplate: "{{ x }}", EOSToken: "<|im_end|>", PADToken: "<pad>",
				SpecialTokens: []string{"<a>", "<b>"}},
		},
		{
			name: "objects",
			file: `{"bos_token":{"content":"<s>","lstrip":false},"eos_token":{"content":"</s>"},"unk_token":"<unk>",` +
				`"extra_special_tokens":{"image":"<i>"}}`,
			want: Config{BOSToken: "<s>", EOSToken: "</s>", UNKToken: "<unk>"},
		},
		{
			name: "named templates",
			file: `{"chat_template":[{"name":"default","template":"D"},{"name":"tool_use","template":"T"}],` +
				`"extra_special_tokens":["<x>"]}`,
			want: Config{ChatTemplate: "D", SpecialTokens: []string{"<x>"}},
		},
		{name: "file wins", file: `{"chat_template":"old"}`, jinja: "new\n", want: Config{ChatTemplate: "new\n"}},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"tokenizer_config.json": c.file, "chat_template.jinja": c.jinja} {
			if text != "" {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := LoadConfig(dir)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.ChatTemplate != c.want.ChatTemplate || got.BOSToken != c.want.BOSToken ||
			got.EOSToken != c.want.EOSToken ||
			got.PADToken != c.want.PADToken || got.UNKToken != c.want.UNKToken ||
			!slices.Equal(got.SpecialTokens, c.want.SpecialTokens) {
			t.Errorf("%s: LoadConfig = %+v, want %+v", c.name, *got, c.want)
		}
		if c.name == "named templates" && got.Templates["tool_use"] != "T" {
			t.Errorf("%s: Templates = %v, want tool_use", c.name, got.Templates)
		}
	}
	if _, err := parseConfig([]byte(`{"chat_template":3}`)); err == nil {
		t.Error("ParseConfig takes a number for a template")
	}
}

// Templates in files replace tokenizer_config.json's.
func TestTemplatesInFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, TemplatesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"tokenizer_config.json": `{"chat_template": [
		{"name": "default", "template": "old"}, {"name": "rag", "template": "old"}]}`, "chat_template.jinja": "D",
		TemplatesDir + "/tool_use.jinja": "T", TemplatesDir + "/README.md": "no template"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := LoadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.ChatTemplate != "D" || len(c.Templates) != 1 || c.Templates["tool_use"] != "T" {
		t.Errorf("the templates are %q and %q", c.ChatTemplate, c.Templates)
	}
}

func TestDecoderHoldsBack(t *testing.T) {
	tok := load(t, "gpt2")
	var ids []int32
	for _, b := range []byte("é\xf0\x9f\x99\x82") {
		id, _ := tok.TokenID(spell(string([]byte{b})))
		ids = append(ids, id)
	}
	d := tok.NewDecoder(false)
	for i, want := range []string{"", "é", "", "", "", "🙂"} {
		if got := d.Write(ids[i]); got != want {
			t.Errorf("Write of byte %d = %q, want %q", i, got, want)
		}
	}
	d.Write(ids[0])
	if got := d.Flush(); got != "\ufffd" {
		t.Errorf("Flush of half a character = %q, want U+FFFD", got)
	}
	if got := d.Flush(); got != "" {
		t.Errorf("second Flush = %q, want nothing", got)
	}
}

// A text of at most so many ids has the same with and without a limit; one of more ends soon after it.
func TestEncodeMost(t *testing.T) {
	for _, name := range names(t) {
		tok := load(t, name)
		for _, text := range []string{"", "a", "The quick  brown fox.\n", strings.Repeat("ab ", 500),
			strings.Repeat("x", 700), strings.Repeat("<s></s><|im_end|>\n", 200)} {
			whole := tok.Encode(text, true)
			if got := tok.EncodeMost(text, true, len(whole)); !slices.Equal(got, whole) {
				t.Errorf("%s: %.20q: with a limit of %d ids it has %d", name, text, len(whole), len(got))
			}
			for most := 0; most < len(whole); most += 50 {
				if got := tok.EncodeMost(text, true, most); len(got) <= most {
					t.Errorf("%s: %.20q: %d of %d ids with a limit of %d", name, text, len(got), len(whole), most)
				}
			}
			if n := len(text) / tok.Longest(); n > len(whole) && tok.Decode(whole, false) == text {
				t.Errorf("%s: %.20q has %d ids, and its longest token would make %d", name, text, len(whole), n)
			}
		}
	}
}

func TestEncodeMostEndsEarly(t *testing.T) {
	for _, name := range names(t) {
		tok := load(t, name)
		text := strings.Repeat("ab <s>", 10000)
		if got := tok.EncodeMost(text, false, 100); len(got) > 120 {
			t.Errorf("%s: %d ids with a limit of 100", name, len(got))
		}
	}
}
