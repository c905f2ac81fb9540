package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// newCharBPE makes a model of pieces.
func newCharBPE(m *modelPart) (*bpe, error) {
	if m.IgnoreMerges {
		return nil, fmt.Errorf("tokenizer: ignore_merges is not supported without ByteLevel")
	}
	b := &bpe{unk: -1, fuseUnk: m.FuseUnk, rules: m.rules, chars: make(map[rune]int32),
		missing: make(map[byte][]int32)}
	if m.UnkToken != nil {
		if id, ok := m.vocab[*m.UnkToken]; ok {
			b.unk = id
		}
	}
	for c := range b.first {
		b.first[c] = -1
	}
	for _, t := range m.tokens {
		if utf8.RuneCountInString(t.name) == 1 {
			r, _ := utf8.DecodeRuneInString(t.name)
			b.chars[r] = m.vocab[t.name]
			if r < utf8.RuneSelf {
				b.first[r] = m.vocab[t.name]
			}
		}
		if c, ok := byteToken(t.name); ok && m.ByteFallback {
			b.missing[c] = []int32{m.vocab[t.name]}
		}
	}
	return b, nil
}

// charSymbols is symbols for a model of pieces: a character that has no symbol
// becomes the tokens of its bytes if all of them have one.
func (b *bpe) charSymbols(out []int32, word string) []int32 {
	held := false
	for len(word) > 0 {
		id, n := b.char(word)
		char := word[:n]
		word = word[n:]
		if id >= 0 {
			if held {
				out = append(out, b.unk)
				held = false
			}
			out = append(out, id)
			continue
		}
		if all := b.bytesOf(out, char); all != nil {
			out = all
			continue
		}
		if b.unk >= 0 {
			if held && !b.fuseUnk {
				out = append(out, b.unk)
			}
			held = true
		}
	}
	if held {
		out = append(out, b.unk)
	}
	return out
}

// char returns the symbol that the first character of word starts as, -1 without one, and the character's length.
func (b *bpe) char(word string) (id int32, n int) {
	if c := word[0]; c < utf8.RuneSelf {
		return b.first[c], 1
	}
	r, n := utf8.DecodeRuneInString(word)
	id, ok := b.chars[r]
	if !ok || r == utf8.RuneError && n == 1 { // a byte that is not UTF-8 is no U+FFFD
		return -1, n
	}
	return id, n
}

// bytesOf appends the tokens of a character's bytes, nil if one is missing.
func (b *bpe) bytesOf(out []int32, char string) []int32 {
	for i := range len(char) {
		ids := b.missing[char[i]]
		if ids == nil {
			return nil
		}
		out = append(out, ids...)
	}
	return out
}
