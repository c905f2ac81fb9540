package gguf

import "encoding/binary"

// The blocks of 256 elements ("K-quants"), each with scales for parts of 16 or 32 elements.
// Formats: ggml-quants.c of llama.cpp 0c1e57098.

// widenQ2K: two bits, and four bits each of scale and minimum for 16 elements.
func widenQ2K(to []float32, b []byte) {
	scales, qs, d, least := b[:16], b[16:80], half(b[80:]), half(b[82:])
	for i := range 256 {
		s := scales[i/16]
		q := qs[32*(i/128)+i%32] >> (2 * (i % 128 / 32)) & 3
		to[i] = float32(float32(d*float32(s&15))*float32(q)) - float32(least*float32(s>>4))
	}
}

// widenQ3K: two bits and a mask of the third, and scales of six bits for 16 elements.
func widenQ3K(to []float32, b []byte) {
	mask, qs, scales, d := b[:32], b[32:96], b[96:108], half(b[108:])
	for i := range 256 {
		j, l := i%128/32, i%32
		q := int(qs[32*(i/128)+l] >> (2 * j) & 3)
		if mask[l]>>(4*(i/128)+j)&1 == 0 {
			q -= 4
		}
		s := i / 16
		low := scales[s%8] & 15
		if s >= 8 {
			low = scales[s-8] >> 4
		}
		scale := int(low|scales[8+s%4]>>(2*(s/4))&3<<4) - 32
		to[i] = float32(d*float32(scale)) * float32(q)
	}
}

// sixBits unpacks the s-th of eight scales and minima of six bits from twelve bytes.
func sixBits(b []byte, s int) (scale, least byte) {
	if s < 4 {
		return b[s] & 63, b[s+4] & 63
	}
	return b[s+4]&15 | b[s-4]>>6<<4, b[s+4]>>4 | b[s]>>6<<4
}

// widenQ4K: four bits, and six bits each of scale and minimum for 32 elements.
func widenQ4K(to []float32, b []byte) { widen45(to, b, b[4:16], nil, b[16:]) }

// widenQ5K: the same with a fifth bit.
func widenQ5K(to []float32, b []byte) { widen45(to, b, b[4:16], b[16:48], b[48:]) }

func widen45(to []float32, b, scales, fifth, qs []byte) {
	d, least := half(b), half(b[2:])
	for part := range 8 {
		scale, minimum := sixBits(scales, part)
		ds, ml := d*float32(scale), float32(least*float32(minimum))
		for l := range 32 {
			q := qs[32*(part/2)+l] >> (4 * (part % 2)) & 15
			if fifth != nil {
				q |= fifth[l] >> part & 1 << 4
			}
			to[32*part+l] = float32(ds*float32(q)) - ml
		}
	}
}

// widenQ6K: four and two bits, and scales of a byte for 16 elements.
func widenQ6K(to []float32, b []byte) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for i := range 256 {
		h, j, l := i/128, i%128/32, i%32
		q := low[64*h+32*(j%2)+l] >> (4 * (j / 2)) & 15
		q |= high[32*h+l] >> (2 * j) & 3 << 4
		to[i] = float32(d*float32(int8(scales[i/16]))) * float32(int(q)-32)
	}
}

// widenIQ4XS: four bits that index levels, and scales of six bits for 32 elements.
func widenIQ4XS(to []float32, b []byte) {
	d, high, low, qs := half(b), binary.LittleEndian.Uint16(b[2:]), b[4:8], b[8:]
	for part := range 8 {
		scale := int(low[part/2]>>(4*(part%2))&15) | int(high>>(2*part)&3)<<4
		ds := d * float32(scale-32)
		for l := range 32 {
			to[32*part+l] = ds * levels(nibble(qs[16*part:], l))
		}
	}
}
