package tokenizer

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// hostile is a tokenizer.json with the given sections besides a small model.
func hostile(sections string) []byte {
	return []byte(`{` + sections + `,"model":{"type":"BPE","vocab":{"a":0,"b":1,"Ġ":2},"merges":[]}}`)
}

const plainByteLevel = `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false}`

func nested(section, kind, list, inner string, n int) string {
	return fmt.Sprintf(`"%s":`, section) + strings.Repeat(`{"type":"`+kind+`","`+list+`":[`,
		n) + inner + strings.Repeat(`]}`, n)
}

// TestHostileFiles are refused when they are read, by what is wrong with them.
func TestHostileFiles(t *testing.T) {
	double := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	split := func(expr string) string {
		return fmt.Sprintf(`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split",`+
			`"pattern":{"Regex":%s},"behavior":"Isolated"},{"type":"ByteLevel"}]}`, mustJSON(expr))
	}
	for _, c := range []struct{ name, sections, want string }{
		{"growing Replace", plainByteLevel + `,"normalizer":{"type":"Sequence","normalizers":[` +
			strings.Repeat(double+",", 59) + double + `]}`, "more than 256 times as long"},
		{"long Replace", plainByteLevel + `,"normalizer":{"type":"Replace","pattern":{"String":"a"},"content":"` +
			strings.Repeat("b", 300) + `"}`, "more than 256 times as long"},
		{"empty Replace", plainByteLevel + `,"normalizer":{"type":"Replace","pattern":{"String":""},"content":"` +
			strings.Repeat("b", 256) + `"}`, "more than 256 times as long"},
		{"Replace by regex", plainByteLevel + `,"normalizer":{"type":"Sequence","normalizers":[` +
			strings.Repeat(`{"type":"Replace","pattern":{"Regex":"b*"},"content":"bbb"},`, 9) + `{"type":"NFC"}]}`,
			"more than 256 times as long"},
		{"long Prepend", plainByteLevel + `,"normalizer":{"type":"Prepend","prepend":"` + strings.Repeat("b", 2000) +
			`"}`, "more than 1024 bytes before"},
		{"nested normalizers", plainByteLevel + "," + nested("normalizer", "Sequence", "normalizers", `{"type":"NFC"}`,
			4000), "normalizer nests more than 16 deep"},
		{"many normalizers", plainByteLevel + `,"normalizer":{"type":"Sequence","normalizers":[` +
			strings.Repeat(`{"type":"Strip"},`, 5000) + `{"type":"NFC"}]}`, "normalizer has more than 128 parts"},
		{"nested pre-tokenizers", nested("pre_tokenizer", "Sequence", "pretokenizers", `{"type":"ByteLevel"}`, 4000),
			"pre_tokenizer nests more than 16 deep"},
		{"many pre-tokenizers", `"pre_tokenizer":{"type":"Sequence","pretokenizers":[` +
			strings.Repeat(`{"type":"Digits"},`, 5000) + `{"type":"ByteLevel"}]}`,
			"pre_tokenizer has more than 128 parts"},
		{"nested post-processors", plainByteLevel + "," + nested("post_processor", "Sequence", "processors",
			`{"type":"ByteLevel"}`, 4000), "post_processor nests more than 16 deep"},
		{"many ids around", plainByteLevel + `,"post_processor":{"type":"TemplateProcessing","single":[` +
			strings.Repeat(`{"SpecialToken":{"id":"x"}},`, 500) + `{"Sequence":{}}],"special_tokens":{"x":{"ids":[0` +
			strings.Repeat(",0", 500) + `]}}}`, "ids around a text"},
		{"backreference", split(`(a)\1`), "pattern"},
		{"huge repetition", split(`((((a{9}){9}){9}){9}){9}`), "pattern"},
		{"long added token", plainByteLevel + `,"added_tokens":[{"id":3,"content":"` + strings.Repeat("a", 2000) +
			`"}]`, "longer than 1024 bytes"},
		{"huge id", plainByteLevel + `,"added_tokens":[{"id":15000000,"content":"x"}]`, "outside 0.."},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(hostile(c.sections))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Parse = %v, want …%s…", c.name, err, c.want)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
			t.Errorf("%s: %d MiB were allocated", c.name, made>>20)
		}
	}
}

func mustJSON(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// backtracking are split patterns that take exponential time in an engine without memory.
var backtracking = []string{`(a+)+b`, `(a|aa)+$b`, `(?:a*)*b`, `a*a*a*a*a*b`, `(?=(?:a+)+b)a`, `(?:a?){40}a{40}b`,
	`\s*\s*\s*b|\s+(?!\S)`}

// TestBacktracking: a pattern made to backtrack comes to its end; that the work is linear is pattern's TestLinear.
func TestBacktracking(t *testing.T) {
	for _, expr := range backtracking {
		tok := withSplit(t, expr)
		if got := len(tok.Encode(strings.Repeat("a", 5000)+"!", false)); got != 5000 { // the model knows a, not !
			t.Errorf("%s: %d ids", expr, got)
		}
	}
}

func withSplit(tb testing.TB, expr string) *Tokenizer {
	tb.Helper()
	tok, err := Parse(hostile(fmt.Sprintf(`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split",`+
		`"pattern":{"Regex":%s},"behavior":"Isolated"},{"type":"ByteLevel","use_regex":false,`+
		`"add_prefix_space":false}]}`, mustJSON(expr))))
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// BenchmarkBacktracking is the rate of each such pattern on a text of one letter.
func BenchmarkBacktracking(b *testing.B) {
	text := strings.Repeat("a", 1<<20)
	for _, expr := range backtracking {
		tok := withSplit(b, expr)
		b.Run(expr, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Encode(text, false)
			}
		})
	}
}
