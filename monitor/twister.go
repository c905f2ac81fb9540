package monitor

import "math/bits"

// twister is MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998), the generator behind numpy.random.seed.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed uint32) *twister {
	m := &twister{at: 624}
	m.state[0] = seed
	for i := 1; i < len(m.state); i++ {
		prev := m.state[i-1]
		m.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	return m
}

func (m *twister) next() uint32 {
	if m.at == len(m.state) {
		m.refill()
	}
	y := m.state[m.at]
	m.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (m *twister) refill() {
	for i := range m.state {
		y := m.state[i]&0x80000000 | m.state[(i+1)%624]&0x7fffffff
		m.state[i] = m.state[(i+397)%624] ^ y>>1 ^ (y&1)*0x9908b0df
	}
	m.at = 0
}

// below draws from 0..n-1 as numpy.random.choice does: keep as many low bits as n-1 has, draw again while too large. No
// number is drawn when n is 1.
func (m *twister) below(n int) int {
	top := uint32(n - 1)
	if top == 0 {
		return 0
	}
	mask := uint32(1)<<bits.Len32(top) - 1
	for {
		if v := m.next() & mask; v <= top {
			return int(v)
		}
	}
}
