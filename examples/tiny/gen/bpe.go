package main

import (
	"cmp"
	"maps"
	"slices"
)

// A merge joins two neighbouring pieces into one.
type merge struct{ left, right string }

// A word is a pre-token cut into pieces, and how often it occurs.
type word struct {
	pieces []string
	count  int
}

// trainBPE learns up to n merges from the counts of pre-tokens, always joining
// the most frequent pair of neighbours; among equals the alphabetically first.
// It stops early when no pair occurs at least twice.
// Source: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words
// with Subword Units", 2016, on bytes instead of characters.
func trainBPE(counts map[string]int, n int) []merge {
	var words []word
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, word{bytePieces(text), counts[text]})
	}
	var merges []merge
	for len(merges) < n {
		m, count := mostFrequentPair(words)
		if count < 2 {
			break
		}
		merges = append(merges, m)
		for i := range words {
			words[i].pieces = m.apply(words[i].pieces)
		}
	}
	return merges
}

// mostFrequentPair counts the neighbours in all words.
func mostFrequentPair(words []word) (best merge, count int) {
	counts := map[merge]int{}
	for _, w := range words {
		for i := 1; i < len(w.pieces); i++ {
			counts[merge{w.pieces[i-1], w.pieces[i]}] += w.count
		}
	}
	for m, c := range counts {
		if c > count || c == count && m.compare(best) < 0 {
			best, count = m, c
		}
	}
	return best, count
}

func (m merge) compare(o merge) int {
	return cmp.Or(cmp.Compare(m.left, o.left), cmp.Compare(m.right, o.right))
}

// apply joins every occurrence of the pair, from the left.
func (m merge) apply(pieces []string) []string {
	out := pieces[:0]
	for i := 0; i < len(pieces); i++ {
		if i+1 < len(pieces) && pieces[i] == m.left && pieces[i+1] == m.right {
			out = append(out, m.left+m.right)
			i++
		} else {
			out = append(out, pieces[i])
		}
	}
	return out
}

// bytePieces spells each byte of the text as the character that stands for it.
func bytePieces(text string) []string {
	letters := byteLetters()
	pieces := make([]string, len(text))
	for i := range len(text) {
		pieces[i] = letters[text[i]]
	}
	return pieces
}

// byteLetters is GPT-2's table of printable characters for the 256 bytes, which
// byte-level tokenizer.json files spell their pieces with: printable Latin-1
// stands for itself, the others follow from U+0100 on.
func byteLetters() [256]string {
	var letters [256]string
	next := rune(256)
	for b := range letters {
		r := rune(b)
		if !(r >= '!' && r <= '~' || r >= 0xA1 && r <= 0xAC || r >= 0xAE && r <= 0xFF) {
			r = next
			next++
		}
		letters[b] = string(r)
	}
	return letters
}
