package python

import "math/bits"

// Legacy returns MT19937 seeded by init_genrand: the words of numpy.random.RandomState(seed) and of
// torch.Generator().manual_seed(seed).
func Legacy(seed uint32) *Random {
	r := new(Random)
	r.state[0] = seed
	for i := 1; i < words; i++ {
		last := r.state[i-1]
		r.state[i] = 1812433253*(last^last>>30) + uint32(i)
	}
	r.next = words
	return r
}

// Torch64 draws a float64 from [0,1) as torch's CPU generator does from two words.
func (r *Random) Torch64() float64 {
	first := uint64(r.Uint32())
	return float64((first<<32|uint64(r.Uint32()))&(1<<53-1)) * (1.0 / (1 << 53))
}

// LegacyInt draws from 0 to n-1 as numpy.random.choice of a RandomState does: it keeps as many low bits of a word as
// n-1 has, and draws again while the number is too large. With n = 1 it draws nothing.
func (r *Random) LegacyInt(n int) int {
	most := uint32(n - 1)
	if most == 0 {
		return 0
	}
	mask := uint32(1)<<bits.Len32(most) - 1
	for {
		if v := r.Uint32() & mask; v <= most {
			return int(v)
		}
	}
}
