// Package python reproduces the draws of CPython's random.Random and NumPy's generators, so that an environment ported
// from Python gives the same episode for the same seed. Other code must use package rng, the project's own generator.
package python

import "math/bits"

const (
	words = 624 // of the state of MT19937
	shift = 397
)

// Random is CPython 3's random.Random: MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998) and CPython's functions
// of its words. A copy repeats the same draws. One Random is for one goroutine.
type Random struct {
	state [words]uint32
	next  int // index of the next word, words when the state is used up
}

// New returns the generator random.Random(seed).
func New(seed uint64) *Random {
	r := new(Random)
	r.Seed(seed)
	return r
}

// Seed begins the sequence of seed.
func (r *Random) Seed(seed uint64) {
	key, n := [2]uint32{uint32(seed), uint32(seed >> 32)}, 2
	if key[1] == 0 {
		n = 1
	}
	s := &r.state
	last := uint32(19650218)
	s[0] = last
	for i := 1; i < words; i++ {
		last = 1812433253*(last^last>>30) + uint32(i)
		s[i] = last
	}
	j := 0
	stir := func(i int) {
		last = (s[i] ^ (last^last>>30)*1664525) + key[j] + uint32(j)
		s[i] = last
		if j++; j == n {
			j = 0
		}
	}
	last = s[0]
	for i := 1; i < words; i++ {
		stir(i)
	}
	stir(1)
	for i := 2; i < words; i++ {
		last = (s[i] ^ (last^last>>30)*1566083941) - uint32(i)
		s[i] = last
	}
	s[1] = (s[1] ^ (last^last>>30)*1566083941) - 1
	s[0] = 1 << 31
	r.next = words
}

// Uint32 draws a word.
func (r *Random) Uint32() uint32 {
	if r.next == words {
		r.twist()
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (r *Random) twist() {
	s := &r.state
	mix := func(i, following, far int) {
		y := s[i]&(1<<31) | s[following]&(1<<31-1)
		s[i] = s[far] ^ y>>1 ^ -(y&1)&0x9908b0df
	}
	for i := range words - shift {
		mix(i, i+1, i+shift)
	}
	for i := words - shift; i < words-1; i++ {
		mix(i, i+1, i+shift-words)
	}
	mix(words-1, 0, shift-1)
	r.next = 0
}

// Below draws evenly from [0,n) with the draws of _randbelow; n is in [1, 2³²). Even n = 1 draws.
func (r *Random) Below(n int) int {
	k := 32 - bits.Len32(uint32(n))
	for {
		if v := int(r.Uint32() >> k); v < n {
			return v
		}
	}
}

// Int draws evenly from [a,b], as randint(a, b).
func (r *Random) Int(a, b int) int { return a + r.Below(b-a+1) }

// Float64 draws from [0,1), as random().
func (r *Random) Float64() float64 {
	a, b := r.Uint32()>>5, r.Uint32()>>6
	return (float64(float64(a)*(1<<26)) + float64(b)) * (1.0 / (1 << 53))
}

// Shuffle permutes n things, as shuffle(x); swap exchanges two of them.
func (r *Random) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, r.Below(i+1))
	}
}

// Sample draws k different numbers of [0,n), as sample(range(n), k); k is in [0,n].
func (r *Random) Sample(n, k int) []int {
	drawn := make([]int, k)
	if n <= poolSize(k) {
		pool := make([]int, n)
		for i := range pool {
			pool[i] = i
		}
		for i := range drawn {
			j := r.Below(n - i)
			drawn[i] = pool[j]
			pool[j] = pool[n-i-1]
		}
		return drawn
	}
	taken := make(map[int]bool, k)
	for i := range drawn {
		j := r.Below(n)
		for taken[j] {
			j = r.Below(n)
		}
		taken[j] = true
		drawn[i] = j
	}
	return drawn
}

// poolSize is the largest population that sample copies to draw k of it: 21, and 4^ceil(log4(3k)) more when k > 5.
func poolSize(k int) int {
	size := 21
	if k > 5 {
		power := 1
		for power < 3*k {
			power *= 4
		}
		size += power
	}
	return size
}

// Choices draws k numbers of [0,n) independently, as choices(range(n), k=k).
func (r *Random) Choices(n, k int) []int {
	drawn := make([]int, k)
	for i := range drawn {
		drawn[i] = int(r.Float64() * float64(n))
	}
	return drawn
}
