package gguf

import (
	"encoding/binary"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/float16"
)

// The blocks of 256 elements that are written: see fit.go for how the scales of their parts are found. These are then
// rounded to the few bits that the block has for them. As the nearest ones need not be the best, their neighbours are
// tried too, with the integers that each of them gives.

// narrowQ4K makes a block of Q4_K, narrowQ5K one of Q5_K: eight parts x ≈ d·scale·q − dmin·least.
func narrowQ4K(to []byte, x []float32) { narrow45(to, x, 15, nil, to[16:144]) }

func narrowQ5K(to []byte, x []float32) { narrow45(to, x, 31, to[16:48], to[48:176]) }

// narrow45 writes a block; fifth holds the fifth bits, if there are any.
func narrow45(to []byte, x []float32, most int, fifth, qs []byte) {
	var scales, leasts [8]float64
	d, dmin := 0.0, 0.0
	for part := range 8 {
		scales[part], leasts[part] = fitAffine(x[32*part:32*part+32], most)
		d, dmin = max(d, scales[part]/63), max(dmin, leasts[part]/63)
	}
	dh, mh := float16.ToHalf(float32(d)), float16.ToHalf(float32(dmin))
	binary.LittleEndian.PutUint16(to, dh)
	binary.LittleEndian.PutUint16(to[2:], mh)
	d, dmin = fromHalf(dh), fromHalf(mh)
	clear(to[4:16])
	clear(qs)
	clear(fifth)
	for part := range 8 {
		p := x[32*part : 32*part+32]
		s, m := nearScales(p, scales[part]*reciprocal(d), leasts[part]*reciprocal(dmin), d, dmin, most)
		putSix(to[4:16], part, s, m)
		scale, least := float64(d*float64(s)), float64(dmin*float64(m))
		inverse := reciprocal(scale)
		for l, v := range p {
			q := whole(float64((float64(v)+least)*inverse), 0, most)
			qs[32*(part/2)+l] |= byte(q&15) << (4 * (part % 2))
			if q > 15 {
				fifth[l] |= 1 << part
			}
		}
	}
}

// nearScales returns the integers of six bits near s and m that give the least squared error for a part, by counts.
func nearScales(x []float32, s, m, d, dmin float64, most int) (scale, least int) {
	best, w := math.Inf(1), counts(x)
	atS, atM := whole(s, 0, 63), whole(m, 0, 63)
	for i := max(0, atS-1); i <= min(63, atS+1); i++ {
		for j := max(0, atM-1); j <= min(63, atM+1); j++ {
			step, shift := float64(d*float64(i)), float64(dmin*float64(j))
			inverse, e := reciprocal(step), 0.0
			for l, v := range x {
				q := float64(whole(float64((float64(v)+shift)*inverse), 0, most))
				miss := float64(step*q) - shift - float64(v)
				e += float64(w[l] * float64(miss*miss))
			}
			if e < best {
				scale, least, best = i, j, e
			}
		}
	}
	return scale, least
}

// putSix stores the scale and minimum of a part in the twelve bytes that sixBits reads.
func putSix(b []byte, part, scale, least int) {
	if part < 4 {
		b[part] |= byte(scale)
		b[part+4] |= byte(least)
		return
	}
	b[part+4] = byte(scale&15) | byte(least&15)<<4
	b[part-4] |= byte(scale>>4) << 6
	b[part] |= byte(least>>4) << 6
}

// narrowQ6K makes a block of Q6_K: sixteen parts x ≈ d·scale·(q−32).
func narrowQ6K(to []byte, x []float32) {
	var scales [16]float64
	peak := 0.0
	for part := range 16 {
		scales[part] = fitSigned(x[16*part:16*part+16], 32)
		if math.Abs(scales[part]) > math.Abs(peak) {
			peak = scales[part]
		}
	}
	clear(to[:192])
	dh := float16.ToHalf(float32(peak / -128)) // the greatest becomes -128
	binary.LittleEndian.PutUint16(to[208:], dh)
	d := fromHalf(dh)
	for part := range 16 {
		p := x[16*part : 16*part+16]
		s := nearScale(p, float64(scales[part]*reciprocal(d)), d)
		to[192+part] = byte(int8(s))
		inverse := reciprocal(float64(d * float64(s)))
		for k, v := range p {
			q := byte(whole(float64(float64(v)*inverse), -32, 31) + 32)
			i := 16*part + k
			h, j, l := i/128, i%128/32, i%32
			to[64*h+32*(j%2)+l] |= q & 15 << (4 * (j / 2))
			to[128+32*h+l] |= q >> 4 << (2 * j)
		}
	}
}

// nearScale returns the signed byte near s that gives the least squared error for a part, by squares.
func nearScale(x []float32, s, d float64) (scale int) {
	best := math.Inf(1)
	at := whole(s, -128, 127)
	for i := max(-128, at-1); i <= min(127, at+1); i++ {
		step := float64(d * float64(i))
		inverse, e := reciprocal(step), 0.0
		for _, v := range x {
			miss := float64(step*float64(whole(float64(float64(v)*inverse), -32, 31))) - float64(v)
			e += float64(float64(float64(v)*float64(v)) * float64(miss*miss))
		}
		if e < best {
			scale, best = i, e
		}
	}
	return scale
}
