// Package rng provides named random streams. The name of a stream is a seed, a word and some numbers
// (rng.New(7).Stream("sample", 3)). Its k-th draw is a pure function of that name and k, so neither scheduling nor
// resuming changes the draws. The bits are the same on every machine and must never change: runs are repeated from
// their seed.
package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Seed is the root of streams.
type Seed uint64

// New returns the root of a number.
func New(seed uint64) Seed { return Seed(seed) }

// Stream returns the stream of that name. Different names give independent streams.
func (s Seed) Stream(name string, ids ...int) Stream {
	b := make([]byte, 0, 128)
	b = binary.LittleEndian.AppendUint64(b, uint64(s))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(name)))
	b = append(b, name...)
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(id)))
	}
	h := sha256.Sum256(b)
	return Stream{key: binary.LittleEndian.Uint64(h[0:]), high: binary.LittleEndian.Uint64(h[8:])}
}

// Stream is a sequence of draws and a place in it. It is a value: a copy repeats the same draws. A *Stream is a
// math/rand/v2.Source. One Stream is for one goroutine; At is safe for concurrent use.
type Stream struct {
	key, high uint64 // from the name
	next      uint64 // index of the next draw
}

// At is the k-th draw.
func (s Stream) At(k uint64) uint64 {
	b := philox([4]uint32{uint32(k >> 1), uint32(k >> 33), uint32(s.high), uint32(s.high >> 32)},
		[2]uint32{uint32(s.key), uint32(s.key >> 32)})
	i := 2 * (k & 1)
	return uint64(b[i]) | uint64(b[i+1])<<32
}

// Float64At is the k-th draw as a number in [0,1).
func (s Stream) Float64At(k uint64) float64 { return unit(s.At(k)) }

// Uint64 draws 64 bits.
func (s *Stream) Uint64() uint64 {
	v := s.At(s.next)
	s.next++
	return v
}

// Float64 draws from [0,1) in steps of 2⁻⁵³.
func (s *Stream) Float64() float64 { return unit(s.Uint64()) }

// Float32 draws from [0,1) in steps of 2⁻²⁴.
func (s *Stream) Float32() float32 { return float32(s.Uint64()>>40) * 0x1p-24 }

// IntN draws evenly from [0,n); n <= 1 gives 0. It uses more than one draw if rounding would favour some numbers
// (Lemire, Fast Random Integer Generation in an Interval, 2019).
func (s *Stream) IntN(n int) int {
	if n <= 1 {
		return 0
	}
	hi, lo := bits.Mul64(s.Uint64(), uint64(n))
	for reject := -uint64(n) % uint64(n); lo < reject; {
		hi, lo = bits.Mul64(s.Uint64(), uint64(n))
	}
	return int(hi)
}

// Perm draws an order of 0 … n-1 (Fisher and Yates).
func (s *Stream) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		j := s.IntN(i + 1)
		p[i], p[j] = p[j], i
	}
	return p
}

// Normal draws from the standard normal distribution, one draw each.
func (s *Stream) Normal() float64 {
	return quantile((float64(s.Uint64()>>12) + 0.5) * 0x1p-52)
}

func unit(v uint64) float64 { return float64(v>>11) * 0x1p-53 }

// philox is Philox-4x32-10 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011).
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		a, b := uint64(c[0])*0xD2511F53, uint64(c[2])*0xCD9E8D57
		c = [4]uint32{uint32(b>>32) ^ c[1] ^ k[0], uint32(b), uint32(a>>32) ^ c[3] ^ k[1], uint32(a)}
		k[0], k[1] = k[0]+0x9E3779B9, k[1]+0xBB67AE85
	}
	return c
}
