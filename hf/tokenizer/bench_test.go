package tokenizer

import (
	"fmt"
	"strings"
	"testing"
)

// benchText is 1 MB of the sentences and the code that the goldens begin with.
func benchText(b *testing.B) string {
	var all strings.Builder
	for _, g := range goldens(b, "qwen2") {
		if g.Text != nil && len(*g.Text) > 60 && strings.Contains(*g.Text, " and ") {
			all.WriteString(*g.Text)
		}
	}
	return strings.Repeat(all.String(), 1+(1<<20)/all.Len())
}

// BenchmarkEncode reports MB/s of text per core, with its spaces and without.
func BenchmarkEncode(b *testing.B) {
	text := benchText(b)
	for _, name := range []string{"qwen2", "llama3", "gpt2", "deepseek", "llama2", "gemma"} {
		tok := load(b, name)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				tok.Encode(text, false)
			}
		})
		solid := strings.ReplaceAll(text, " ", "")
		b.Run(name+"/solid", func(b *testing.B) {
			b.SetBytes(int64(len(solid)))
			for b.Loop() {
				tok.Encode(solid, false)
			}
		})
	}
}

// BenchmarkChat encodes texts of the length of a chat turn.
func BenchmarkChat(b *testing.B) {
	tok := load(b, "qwen2")
	text := "<|im_start|>user\nNatalia sold clips to 48 of her friends in April. How " +
		"many?<|im_end|>\n<|im_start|>assistant\n"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Encode(text, false)
	}
}

// BenchmarkLongWord compares the two ways to merge a word.
func BenchmarkLongWord(b *testing.B) {
	model := load(b, "qwen2").model
	for _, n := range []int{16, 32, 40, 48, 64, 128} {
		word := strings.Repeat("a word of many letters, supercalifragilistic", 4)[:n]
		for name, merge := range map[string]func([]int32) int{"scan": model.mergeScan, "heap": model.mergeHeap} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				var buf []int32
				for b.Loop() {
					buf = model.symbols(buf[:0], word)
					merge(buf)
				}
			})
		}
	}
}
