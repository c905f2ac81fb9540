package tokenizer

import (
	"hash/maphash"
	"math/bits"
)

// words finds the token that is a whole word. It is a hash table like rules,
// quicker to fill than a map.
type words struct {
	seed  maphash.Seed
	slots []wordSlot // a power of two; empty in a table without words
}

type wordSlot struct {
	word string // "" in an empty slot
	id   int32
}

// newWords makes the table of a vocabulary. A name with characters outside the
// byte alphabet is the spelling of no word.
func newWords(tokens []entry) words {
	w := words{seed: maphash.MakeSeed(), slots: make([]wordSlot, 1<<bits.Len(uint(2*len(tokens))))}
	for id := range tokens {
		e := &tokens[id]
		if e.bytes == "" || e.bytes == e.name && !plain(e.name) {
			continue
		}
		i := w.place(e.bytes)
		for w.slots[i].word != "" {
			i = (i + 1) & (len(w.slots) - 1)
		}
		w.slots[i] = wordSlot{e.bytes, int32(id)}
	}
	return w
}

func (w *words) place(word string) int {
	return int(maphash.String(w.seed, word)) & (len(w.slots) - 1)
}

func (w *words) get(word string) (int32, bool) {
	if len(w.slots) == 0 {
		return 0, false
	}
	for i := w.place(word); w.slots[i].word != ""; i = (i + 1) & (len(w.slots) - 1) {
		if w.slots[i].word == word {
			return w.slots[i].id, true
		}
	}
	return 0, false
}
