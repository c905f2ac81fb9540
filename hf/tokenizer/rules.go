package tokenizer

import "math/bits"

// rules maps pairs of symbols to values below none. It is a hash table with
// open addressing, half full or less: asking it is most of what merging does,
// and it answers several times faster than a map.
type rules struct {
	slots []slot // a power of two; empty in a table without rules
	shift int
	used  int

	// filter has a bit for every place of a table eight times as large. Most
	// pairs asked for have no rule; nearly all of these the filter, which
	// fits the processor's cache, rules out.
	filter []uint64
}

type slot struct{ pair, value uint64 }

// none is the value of a pair without a rule, above every rule's.
const none = ^uint64(0)

// newRules makes a table for n rules; more make it grow.
func newRules(n int) rules {
	size := bits.Len(uint(max(8, 2*n-1)))
	r := rules{slots: make([]slot, 1<<size), shift: 64 - size, filter: make([]uint64, 1<<(size+3-6))}
	for i := range r.slots {
		r.slots[i].value = none
	}
	return r
}

// hash multiplies by the golden ratio; its upper bits are the good ones (Knuth,
// The Art of Computer Programming 3, section 6.4).
func hash(pair uint64) uint64 { return pair * 0x9E3779B97F4A7C15 }

func (r *rules) get(pair uint64) uint64 {
	if len(r.slots) == 0 {
		return none
	}
	h := hash(pair)
	bit := h >> (r.shift - 3)
	if r.filter[bit/64]>>(bit%64)&1 == 0 {
		return none
	}
	for i := h >> r.shift; ; i = (i + 1) & uint64(len(r.slots)-1) {
		if s := &r.slots[i]; s.pair == pair || s.value == none {
			return s.value
		}
	}
}

func (r *rules) set(pair, value uint64) {
	if 2*r.used >= len(r.slots) {
		r.grow()
	}
	h := hash(pair)
	bit := h >> (r.shift - 3)
	r.filter[bit/64] |= 1 << (bit % 64)
	for i := h >> r.shift; ; i = (i + 1) & uint64(len(r.slots)-1) {
		s := &r.slots[i]
		if s.value == none {
			r.used++
		}
		if s.pair == pair || s.value == none {
			*s = slot{pair, value}
			return
		}
	}
}

func (r *rules) grow() {
	old := r.slots
	*r = newRules(len(old))
	for _, s := range old {
		if s.value != none {
			r.set(s.pair, s.value)
		}
	}
}
