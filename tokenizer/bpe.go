package tokenizer

import (
	"cmp"
	"container/heap"
	"fmt"
)

// bpe is a byte-level BPE model over raw bytes.
type bpe struct {
	// first holds the symbol each byte starts as; -1 where the vocabulary lacks
	// the byte, and then missing tells what stands for it.
	first   [256]int32
	missing map[byte][]int32
	unk     int32 // id, -1 without one
	fuseUnk bool

	// rules maps a pair of neighbours, left<<32|right, to rank<<32|merged:
	// the smallest value is merged first.
	rules map[uint64]uint64

	// words maps the bytes of a whole word to its id when ignore_merges is
	// set; nil otherwise.
	words map[string]int32
}

func newBPE(m *modelPart) (*bpe, error) {
	b := &bpe{rules: make(map[uint64]uint64, len(m.Merges)), unk: -1, fuseUnk: m.FuseUnk}
	if m.UnkToken != nil {
		if id, ok := m.vocab[*m.UnkToken]; ok {
			b.unk = id
		}
	}
	b.fillFirst(m)
	for rank, rule := range m.Merges {
		left, ok1 := m.vocab[rule.left]
		right, ok2 := m.vocab[rule.right]
		merged, ok3 := m.vocab[rule.left+rule.right]
		if !ok1 || !ok2 || !ok3 {
			return nil, fmt.Errorf("tokenizer: merge %d (%q, %q) makes or uses a token that is not in the vocabulary", rank, rule.left, rule.right)
		}
		b.rules[pair(left, right)] = uint64(rank)<<32 | uint64(uint32(merged))
	}
	if m.IgnoreMerges {
		b.words = make(map[string]int32, len(m.vocab))
		for name, id := range m.vocab {
			b.words[bytesOf(name)] = id
		}
	}
	return b, nil
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

// shortWord is the length in symbols up to which merging scans all pairs again
// after each merge; longer words use a heap. Found by BenchmarkLongWord.
const shortWord = 40

// encode appends the ids of one word to out.
func (b *bpe) encode(out []int32, word string) []int32 {
	if id, ok := b.words[word]; ok {
		return append(out, id)
	}
	start := len(out)
	out = b.symbols(out, word)
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
	for len(s) > 1 {
		best, at := ^uint64(0), -1
		for i := range len(s) - 1 {
			if rule, ok := b.rules[pair(s[i], s[i+1])]; ok && rule < best {
				best, at = rule, i
			}
		}
		if at < 0 {
			break
		}
		s[at] = int32(uint32(best))
		copy(s[at+1:], s[at+2:])
		s = s[:len(s)-1]
	}
	return len(s)
}

// candidate is a pair that may be merged: rule is its rank and result, left and
// right are the symbols' places.
type candidate struct {
	rule        uint64
	left, right int32
	pair        uint64 // the two symbols when it was found
}

type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c candidates) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(c[i].rule, c[j].rule), cmp.Compare(c[i].left, c[j].left)) < 0
}
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// mergeHeap does what mergeScan does in n log n steps: symbols form a linked
// list, and a candidate whose symbols have changed since is passed over.
func (b *bpe) mergeHeap(s []int32) int {
	n := int32(len(s))
	next, prev := make([]int32, n), make([]int32, n)
	var todo candidates
	find := func(left, right int32) {
		if left < 0 || right >= n {
			return
		}
		p := pair(s[left], s[right])
		if rule, ok := b.rules[p]; ok {
			heap.Push(&todo, candidate{rule, left, right, p})
		}
	}
	for i := range n {
		next[i], prev[i] = i+1, i-1
		find(i, i+1)
	}
	for len(todo) > 0 {
		c := heap.Pop(&todo).(candidate)
		if s[c.left] < 0 || next[c.left] != c.right || pair(s[c.left], s[c.right]) != c.pair {
			continue
		}
		s[c.left], s[c.right] = int32(uint32(c.rule)), -1
		next[c.left] = next[c.right]
		if next[c.left] < n {
			prev[next[c.left]] = c.left
		}
		find(prev[c.left], c.left)
		find(c.left, next[c.left])
	}
	length := 0
	for i := int32(0); i < n; i = next[i] {
		s[length] = s[i]
		length++
	}
	return length
}
