package modelfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// The name in tokenizer.ggml.pre survives: a folder made of a GGUF file is recognised as what the file said, or as
// another name of the same way. This holds for all names that are read.
func TestPreSurvives(t *testing.T) {
	same := map[string][]string{
		"gpt-2":     {"phi-2", "jina-es", "mellum", "olmo", "exaone4"},
		"smollm":    {"starcoder", "refact", "command-r", "codeshell", "exaone"},
		"llama-bpe": {"llama3", "llama-v3", "falcon3", "pixtral"},
		"smaug-bpe": {"dbrx"},
		"qwen2":     {"deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez"},
	}
	ways := modeldir.Ways()
	m := lookalikes()["qwen3"]
	for pre, w := range ways {
		f, err := Model{Shape: m.shape, Weights: small(m.shape), Dir: folder(t, m.tok, m.conf)}.Plan(BF16)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range f.pairs {
			if p.Key == "tokenizer.ggml.pre" {
				f.pairs[i].Value = pre
			}
		}
		dir := t.TempDir()
		if err := modeldir.Write(save(t, f), dir); err != nil {
			t.Fatal(err)
		}
		v, err := readVocabulary(dir, "", m.shape.Vocab, nil)
		if err != nil {
			t.Errorf("%s: %v", pre, err)
			continue
		}
		if again := ways[v.pre]; !reflect.DeepEqual(again, w) {
			t.Errorf("%s became %s, which is another way: %v, want %v", pre, v.pre, again, w)
		}
		for name, others := range same {
			if slices.Contains(others, pre) && v.pre != name {
				t.Errorf("%s became %s, want %s", pre, v.pre, name)
			}
		}
	}
	if len(ways) < 20 {
		t.Errorf("%d names", len(ways))
	}
}

// changed is a folder with a tokenizer.json in which old became other.
func changed(t *testing.T, tok string, replace ...string) string {
	t.Helper()
	dir := folder(t, tok, `{}`)
	path := filepath.Join(dir, "tokenizer.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(replace...).Replace(string(data))
	if text == string(data) {
		t.Fatalf("%q is not in %s", replace, tok)
	}
	write(t, dir, "tokenizer.json", []byte(text))
	return dir
}

// What GGUF cannot express is refused by name, with a way out.
func TestTokenizersRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		dir  string
		rows int
		want string
	}{
		"rows":         {folder(t, "qwen2", `{}`), 904, "has id 904, and the embedding has 904 rows"},
		"pattern":      {changed(t, "qwen2", `\\s+(?!\\S)`, `\\s+$`), 960, "llama.cpp has no name"},
		"prefix space": {folder(t, "roberta", `{}`), 960, "ByteLevel with add_prefix_space"},
		"normalizer":   {folder(t, "digits", `{}`), 960, `the normalizer "NFKC Lowercase"`},
		"bytes":        {folder(t, "fallback", `{}`), 960, "byte_fallback"},
		"characters":   {folder(t, "never", `{}`), 960, "without byte_fallback"},
		"merges":       {folder(t, "llama2", `{}`), 960, "are not among the merges"},
		"falcon":       {folder(t, "falcon", `{}`), 960, "convert_hf_to_gguf.py"},
		"around": {changed(t, "qwen2", `"post_processor": {`, `"post_processor": {"type": "RobertaProcessing", `+
			`"cls": ["<think>", 903], "sep": ["<|im_end|>", 902]}, "was": {`, `"post_processor":{`,
			`"post_processor":{"type":"RobertaProcessing","cls":["<think>",903],"sep":["<|im_end|>",902]},"was":{`),
			960, "only the bos and eos tokens"},
	} {
		_, err := readVocabulary(tt.dir, "", tt.rows, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

// Rows without a token get one that is unused, and every token is there once.
func TestPadding(t *testing.T) {
	v, err := readVocabulary(changed(t, "qwen2", `"<think>"`, `"[PAD905]"`), "", 910, []int32{902, 900})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "[PAD905]", "</think>", "[PAD905]~", "[PAD906]",
		"[PAD907]", "[PAD908]", "[PAD909]"}
	types := []int32{tokenControl, tokenControl, tokenControl, tokenUser, tokenUser, tokenUnused, tokenUnused,
		tokenUnused, tokenUnused, tokenUnused}
	if !slices.Equal(v.tokens[900:], want) || !slices.Equal(v.types[900:], types) {
		t.Errorf("%q, %v", v.tokens[900:], v.types[900:])
	}
	if once := slices.Compact(slices.Sorted(slices.Values(v.tokens))); len(once) != 910 {
		t.Errorf("%d different tokens", len(once))
	}
	said := fmt.Sprint(v.special)
	for _, pair := range []string{"{tokenizer.ggml.eos_token_id 902}", "{tokenizer.ggml.eot_token_id 902}",
		"{tokenizer.ggml.add_bos_token false}"} {
		if !strings.Contains(said, pair) {
			t.Errorf("%s has no %s", said, pair)
		}
	}
	if !slices.Equal(v.stops, []string{"<|im_end|>", "<|endoftext|>"}) {
		t.Errorf("stops %q", v.stops)
	}
}

// Templates besides the default are kept by their names, unless another template than the default is written.
func TestTemplates(t *testing.T) {
	dir := folder(t, "qwen2", `{"chat_template": [{"name": "default", "template": "a"},
		{"name": "tool_use", "template": "b"}]}`)
	for template, want := range map[string]map[string]any{"": {"": "a", ".tool_use": "b"},
		"a": {"": "a", ".tool_use": "b"}, "c": {"": "c"}} {
		v, err := readVocabulary(dir, template, 960, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		for _, p := range v.special {
			if name, ok := strings.CutPrefix(p.Key, "tokenizer.chat_template"); ok && name != "s" {
				got[name] = p.Value
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("with template %q: %v, want %v", template, got, want)
		}
	}
}

// Scores made of merges give the ids of the merges, when pairs are merged as llama.cpp does: the highest score first.
// At the start of a text, Metaspace puts no space before a space, and llama.cpp does, as SentencePiece itself.
func TestScores(t *testing.T) {
	for _, name := range []string{"llama2", "mistral", "gemma"} {
		dir := asSentencePiece(t, name)
		v, err := readVocabulary(dir, "", 960, nil)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, text := range texts(t, name) {
			cut := func(id int32) bool { return v.types[id] >= tokenUnknown && v.types[id] <= tokenUser }
			if text == "" || name == "mistral" && text[0] == ' ' || slices.ContainsFunc(tok.Encode(text, false), cut) {
				continue
			}
			compared++
			if got, want := v.merge(text), tok.Encode(text, false); !slices.Equal(got, want) {
				t.Fatalf("%s: %.60q: %.20v, want %.20v", name, text, got, want)
			}
		}
		if compared < 40 || v.spacePrefix != (name != "gemma") || v.model != "llama" {
			t.Errorf("%s: %d texts, %+v", name, compared, v.model)
		}
	}
}

// merge tokenises a text by scores.
func (v *vocabulary) merge(text string) []int32 {
	ids := map[string]int32{}
	for id, s := range v.tokens {
		ids[s] = int32(id)
	}
	var parts []string
	if v.spacePrefix {
		text = " " + text
	}
	for _, r := range strings.ReplaceAll(text, " ", marker) {
		parts = append(parts, string(r))
	}
	for {
		best, at := math.Inf(-1), -1
		for i := range len(parts) - 1 {
			id, ok := ids[parts[i]+parts[i+1]]
			if s := float64(v.scores[id]); ok && s > best {
				best, at = s, i
			}
		}
		if at < 0 {
			break
		}
		parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
	}
	var out []int32
	for _, p := range parts {
		if id, ok := ids[p]; ok {
			out = append(out, id)
			continue
		}
		for _, b := range []byte(p) {
			out = append(out, ids[fmt.Sprintf("<0x%02X>", b)])
		}
	}
	return out
}

// asSentencePiece is a folder whose merges are all pairs of tokens that make a token, as the conversion from
// SentencePiece lists them.
func asSentencePiece(t *testing.T, name string) string {
	t.Helper()
	if name == "gemma" { // lists them
		return folder(t, name, `{"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>"}`)
	}
	dir := folder(t, name, `{"bos_token": "<s>", "eos_token": "</s>"}`)
	path := filepath.Join(dir, "tokenizer.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	var model map[string]any
	var file tokenizerFile
	for _, to := range []any{&all, &file} {
		if err := json.Unmarshal(data, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal(all["model"], &model); err != nil {
		t.Fatal(err)
	}
	var list [][2]string
	seen := map[string]bool{}
	for _, m := range file.Model.Merges {
		whole := m[0] + m[1]
		for at := range whole {
			_, left := file.Model.Vocab[whole[:at]]
			_, right := file.Model.Vocab[whole[at:]]
			if at > 0 && left && right && !seen[whole] {
				list = append(list, [2]string{whole[:at], whole[at:]})
			}
		}
		seen[whole] = true
	}
	model["merges"] = list
	if all["model"], err = json.Marshal(model); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "tokenizer.json", data)
	return dir
}
