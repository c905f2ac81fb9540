package tokenizer

import "hash/maphash"

// memory remembers the ids of words met lately: most words of a text were met
// before. A word has one place, where the newest one stays. It is not a map since
// those grow, and forget all or nothing.
type memory struct {
	seed  maphash.Seed
	words []remembered
}

// remembered is one word and its ids, in one line of the processor's cache.
// Longer words are seldom met twice.
type remembered struct {
	word   [rememberedBytes]byte
	ids    [rememberedIDs]int32
	length uint8 // of the word; 0 in an empty place
	n      uint8 // of the ids
}

const (
	rememberedBytes = 34
	rememberedIDs   = 6
	rememberedWords = 1 << 14 // 1 MB, which a core's second cache holds
)

func newMemory() memory {
	return memory{seed: maphash.MakeSeed(), words: make([]remembered, rememberedWords)}
}

// place returns the place of a word, nil for one that is too long to have one.
func (m *memory) place(word string) *remembered {
	if len(word) == 0 || len(word) > rememberedBytes {
		return nil
	}
	return &m.words[maphash.String(m.seed, word)%rememberedWords]
}

// holds reports whether word is the one remembered.
func (r *remembered) holds(word string) bool {
	return int(r.length) == len(word) && string(r.word[:r.length]) == word
}

// set puts a word in the place, unless it has too many ids.
func (r *remembered) set(word string, ids []int32) {
	if len(ids) > rememberedIDs {
		return
	}
	r.length, r.n = uint8(copy(r.word[:], word)), uint8(copy(r.ids[:], ids))
}
