package python

import "math/bits"

// Generator is numpy.random.default_rng(seed): PCG64 (O'Neill, HMC-CS-2014-0905; XSL-RR output) seeded by NumPy's
// SeedSequence. A copy repeats the same draws. One Generator is for one goroutine.
type Generator struct {
	high, low       uint64 // state
	incHigh, incLow uint64
	half            uint32 // the unused upper half of the last 64 bits
	hasHalf         bool
}

// DefaultRNG returns the generator numpy.random.default_rng(seed).
func DefaultRNG(seed uint64) *Generator {
	v := seedSequence(seed)
	g := &Generator{incHigh: v[2]<<1 | v[3]>>63, incLow: v[3]<<1 | 1}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, v[1], 0)
	g.high, _ = bits.Add64(g.high, v[0], carry)
	g.step()
	return g
}

// seedSequence is SeedSequence(seed).generate_state(4, uint64).
func seedSequence(seed uint64) [4]uint64 {
	hash, multiplier := uint32(0x43b0d7e5), uint32(0x931e8875)
	scramble := func(v uint32) uint32 {
		v ^= hash
		hash *= multiplier
		v *= hash
		return v ^ v>>16
	}
	pool := [4]uint32{uint32(seed), uint32(seed >> 32)}
	for i := range pool {
		pool[i] = scramble(pool[i])
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				v := 0xca01f9dd*pool[to] - 0x4973f715*scramble(pool[from])
				pool[to] = v ^ v>>16
			}
		}
	}
	hash, multiplier = 0x8b51f9dd, 0x58f38ded
	var state [4]uint64
	for i := range state {
		low := scramble(pool[2*i%4])
		state[i] = uint64(low) | uint64(scramble(pool[(2*i+1)%4]))<<32
	}
	return state
}

func (g *Generator) step() {
	const multiplierHigh, multiplierLow = 2549297995355413924, 4865540595714422341
	high, low := bits.Mul64(g.low, multiplierLow)
	high += g.high*multiplierLow + g.low*multiplierHigh
	var carry uint64
	g.low, carry = bits.Add64(low, g.incLow, 0)
	g.high, _ = bits.Add64(high, g.incHigh, carry)
}

// Uint64 draws 64 bits.
func (g *Generator) Uint64() uint64 {
	g.step()
	return bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
}

// Uint32 draws 32 bits: the lower half of a word, then its upper half.
func (g *Generator) Uint32() uint32 {
	if g.hasHalf {
		g.hasHalf = false
		return g.half
	}
	v := g.Uint64()
	g.half, g.hasHalf = uint32(v>>32), true
	return uint32(v)
}

// Integer draws evenly from [0,n), as integers(n); n is in [1, 2³²). n = 1 draws nothing.
func (g *Generator) Integer(n int) int {
	if n == 1 {
		return 0
	}
	product := uint64(g.Uint32()) * uint64(n)
	if uint32(product) < uint32(n) {
		for reject := -uint32(n) % uint32(n); uint32(product) < reject; {
			product = uint64(g.Uint32()) * uint64(n)
		}
	}
	return int(product >> 32)
}

// Float64 draws from [0, 1), as random().
func (g *Generator) Float64() float64 { return float64(g.Uint64()>>11) * 0x1p-53 }

// Permutation draws an order of 0 … n-1, as permutation(n); n < 2³².
func (g *Generator) Permutation(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		mask := uint32(1)<<bits.Len32(uint32(i)) - 1
		j := g.Uint32() & mask
		for j > uint32(i) {
			j = g.Uint32() & mask
		}
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// Choice draws k different numbers of 0 … n-1, as choice(n, k, replace=False); n < 2³².
func (g *Generator) Choice(n, k int) []int {
	if n > 10000 && k > n/50 {
		return g.tail(n, k)
	}
	picked, seen := make([]int, 0, k), make(map[int]bool, k) // Floyd's algorithm
	for j := n - k; j < n; j++ {
		v := g.Integer(j + 1)
		if seen[v] {
			v = j
		}
		seen[v] = true
		picked = append(picked, v)
	}
	for i := k - 1; i > 0; i-- {
		j := g.Integer(i + 1)
		picked[i], picked[j] = picked[j], picked[i]
	}
	return picked
}

// tail is the end of the numbers after its places have been shuffled with all.
func (g *Generator) tail(n, k int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for i := n - 1; i >= max(n-k, 1); i-- {
		j := g.Integer(i + 1)
		all[i], all[j] = all[j], all[i]
	}
	return all[n-k:]
}
