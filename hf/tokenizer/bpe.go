package tokenizer

import (
	"bytes"
	"fmt"
)

// bpe is a byte-level BPE model over raw bytes.
type bpe struct {
	// first holds the symbol each byte starts as; -1 where the vocabulary lacks
	// the byte, and then missing has its symbols.
	first   [256]int32
	missing map[byte][]int32
	unk     int32 // id, -1 without one
	fuseUnk bool

	// rules maps a pair of neighbours, left<<32|right, to rank<<32|merged:
	// the smallest value is merged first.
	rules rules
	// pairs has the rules that a word begins with: of each byte beside each,
	// the first times 256 plus the second. It is empty if first lacks a byte.
	pairs []uint64

	// chars has the symbols that characters start as, in a model of pieces; nil
	// in one of bytes. The symbols of ASCII are in first.
	chars map[rune]int32

	// words finds the bytes of a whole word when ignore_merges is set; empty
	// otherwise.
	words words
}

// newBPE makes a model; tokens are the entries of its vocabulary.
func newBPE(m *modelPart, tokens []entry) *bpe {
	b := &bpe{unk: -1, fuseUnk: m.FuseUnk, rules: m.rules}
	if m.UnkToken != nil {
		if id, ok := m.vocab[*m.UnkToken]; ok {
			b.unk = id
		}
	}
	b.fillFirst(m)
	b.fillPairs()
	if m.IgnoreMerges {
		b.words = newWords(tokens)
	}
	return b
}

// fillRules takes the merge rules. Of two rules for one pair the later counts,
// as in the library.
func (m *modelPart) fillRules(c *cursor) error {
	var both, last []byte // spellings of what rules make: neighbours often make the same
	merged, known := int32(0), false
	rank := uint64(0)
	m.rules = newRules(2 * len(m.vocab)) // grows if there are many more
	err := c.merges(func(l, r []byte) error {
		both = append(append(both[:0], l...), r...)
		left, ok1 := m.vocab[string(l)]
		right, ok2 := m.vocab[string(r)]
		if !known || !bytes.Equal(both, last) {
			merged, known = m.vocab[string(both)]
			both, last = last, both
		}
		if !ok1 || !ok2 || !known {
			return fmt.Errorf("merge %d (%q, %q) makes or uses a token that is not in the vocabulary", rank, l, r)
		}
		m.rules.set(pair(left, right), rank<<32|uint64(uint32(merged)))
		rank++
		return nil
	})
	if err != nil {
		return fmt.Errorf("merges of the BPE model: %w", err)
	}
	return nil
}

// fillPairs looks up the rules of all pairs of bytes, if every byte is a symbol.
func (b *bpe) fillPairs() {
	pairs := make([]uint64, 0, 1<<16)
	for _, left := range b.first {
		for _, right := range b.first {
			if left < 0 || right < 0 {
				return
			}
			pairs = append(pairs, b.rules.get(pair(left, right)))
		}
	}
	b.pairs = pairs
}

// fillFirst finds the symbol of each byte. A byte without one becomes the
// <0xNN> tokens of its spelling with byte_fallback, else the unknown token,
// else nothing.
func (b *bpe) fillFirst(m *modelPart) {
	b.missing = make(map[byte][]int32)
	for c, char := range byteAlphabet() {
		id, ok := m.vocab[string(char)]
		if ok {
			b.first[c] = id
			continue
		}
		b.first[c] = -1
		if m.ByteFallback {
			b.missing[byte(c)] = fallback(m.vocab, string(char))
		}
	}
}

// fallback returns the <0xNN> tokens of the bytes of s, nil if one is missing.
func fallback(vocab map[string]int32, s string) (ids []int32) {
	for i := range len(s) {
		id, ok := vocab[fmt.Sprintf("<0x%02X>", s[i])]
		if !ok {
			return nil
		}
		ids = append(ids, id)
	}
	return ids
}

func pair(left, right int32) uint64 {
	return uint64(uint32(left))<<32 | uint64(uint32(right))
}

// shortWord is the length in symbols up to which merging looks for the best of
// all pairs after each merge; longer words use a heap. Found by BenchmarkLongWord.
const shortWord = 96

// encode appends the ids of one word to out.
func (b *bpe) encode(out []int32, word string) []int32 {
	if id, ok := b.words.get(word); ok {
		return append(out, id)
	}
	start := len(out)
	if b.chars != nil {
		out = b.charSymbols(out, word)
	} else {
		out = b.symbols(out, word)
	}
	if len(b.pairs) > 0 && len(word) <= shortWord {
		return out[:start+b.mergeBytes(out[start:], word)]
	}
	if len(out)-start <= shortWord {
		return out[:start+b.mergeScan(out[start:])]
	}
	return out[:start+b.mergeHeap(out[start:])]
}

// symbols appends the symbols that word starts as. An unknown token is held
// until the next known byte, the next unknown one or the end, so the tokens of
// byte_fallback come before it: so does the library.
func (b *bpe) symbols(out []int32, word string) []int32 {
	held := false
	for i := range len(word) {
		id := b.first[word[i]]
		switch {
		case id >= 0:
			if held {
				out = append(out, b.unk)
				held = false
			}
			out = append(out, id)
		case b.missing[word[i]] != nil:
			out = append(out, b.missing[word[i]]...)
		case b.unk >= 0:
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

// mergeScan merges s in place, always the pair of lowest rank and of those the
// leftmost, and returns the new length.
func (b *bpe) mergeScan(s []int32) int {
	var room [shortWord]uint64
	rule := room[:0]
	for i := 1; i < len(s); i++ {
		rule = append(rule, b.rules.get(pair(s[i-1], s[i])))
	}
	return b.mergeRules(s, rule)
}

// mergeBytes is mergeScan for the symbols of a word, each of which is one byte.
func (b *bpe) mergeBytes(s []int32, word string) int {
	var room [shortWord]uint64
	rule := room[:0]
	for i := 1; i < len(word); i++ {
		rule = append(rule, b.pairs[int(word[i-1])<<8|int(word[i])])
	}
	return b.mergeRules(s, rule)
}

// mergeRules merges; rule[i] is the rule of s[i] and s[i+1].
func (b *bpe) mergeRules(s []int32, rule []uint64) int {
	n := len(s)
	for {
		best, at := uint64(none), 0
		for i, r := range rule {
			if r < best {
				best, at = r, i
			}
		}
		if best == none {
			return n
		}
		n--
		s[at] = int32(uint32(best))
		for i := at + 1; i < n; i++ { // quicker than copy for a few
			s[i], rule[i-1] = s[i+1], rule[i]
		}
		rule = rule[:n-1]
		if at+1 < n {
			rule[at] = b.rules.get(pair(s[at], s[at+1]))
		}
		if at > 0 {
			rule[at-1] = b.rules.get(pair(s[at-1], s[at]))
		}
	}
}
