package kernel

// Quads in 4 bits hold integers q[n,k] = S[n,g]·(u[n,k]-8) for groups g of 32 k, with u in 0…15 and S in 1…15, so that
// |q| ≤ 120. They are multiplied as int8 is, and stored in 4.125 bits. A row is quantised thus:
//
//	a = max over k of |W[n,k]| ; Scales[n] = a/112 ; x[k] = W[n,k]·(112/a)
//	r = max over the group of |x[k]|/7 ; S is tried from floor(0.8·r) to ceil(r), within 1…15
//	u[k]-8 = x[k]·(1/S), rounded to nearest even, within -8…7
//
// S is the least with the smallest sum over k of (x[k]-S·(u[k]-8))². A group of zeros has S = 1. With a/112 the largest
// weight may be clipped by 6 percent, which the others gain in precision.
//
//	Data   [ceil(N/32)][8*ceil(K/64)][32]: of k to k+7, byte i holds u of k+i and, above it, of k+4+i
//	Groups [ceil(N/32)][2*ceil(K/64)][4]: byte n%16 holds S of column n%16 and, above it, of column n%16+16
//
// Columns from N on, groups from K on, and rows of zeros or NaN have S = 0.
const (
	topNibbles = 112
	group      = 32        // k
	groupQuads = group / 4 // rows of a panel in int8
	groupWords = NR / 8    // of Groups
)

// nibbleAt is at in 4 bits.
func (q *Quads) nibbleAt(n, k int) int8 {
	at, shift := q.nibble(n, k)
	factor, above := q.factor(n, k)
	return int8(q.Groups[factor]>>above&15) * (int8(q.Data[at]>>shift&15) - 8)
}

// nibble returns the word of Data and the bit where u[n,k] is, factor those of Groups where its S is.
func (q *Quads) nibble(n, k int) (at, shift int) {
	return (n/NR*q.steps()/2+k/8)*NR + n%NR, k%4*8 + k&4
}

func (q *Quads) factor(n, k int) (at, shift int) {
	return (n/NR*q.steps()/groupQuads+k/group)*groupWords + n%16/4, n%4*8 + n%NR/16*4
}

// quantizeNibbles is QuantizeRows for row n.
func (q *Quads) quantizeNibbles(row []float32, n int) {
	scale, inverse := scales(row, topNibbles)
	q.Scales[n] = scale
	if inverse == 0 {
		return
	}
	for k := range row {
		row[k] = float32(row[k] * inverse)
	}
	for k0 := 0; k0 < len(row); k0 += group {
		x := row[k0:min(k0+group, len(row))]
		s := bestFactor(x)
		at, shift := q.factor(n, k0)
		q.Groups[at] |= uint32(s) << shift
		inverse := 1 / float32(s)
		var words [group / 8]uint32
		for k := range group {
			u := uint32(8)
			if k < len(x) {
				u = uint32(8 + int32(inNibble(x[k], inverse)))
			}
			words[k/8] |= u << (k%4*8 + k&4)
		}
		for i, word := range words {
			at, _ := q.nibble(n, k0+8*i)
			q.Data[at] = word
		}
	}
}

// bestFactor returns S of a group.
func bestFactor(x []float32) int {
	top := float32(0)
	for _, v := range x {
		top = max(top, v, -v)
	}
	r := top / 7
	most := max(1, min(15, int(-floor(-r))))
	best, least := 0, float32(0)
	for s := max(1, min(15, int(floor(float32(r*0.8))))); s <= most; s++ {
		sum, factor := float32(0), float32(s)
		inverse := 1 / factor
		for _, v := range x {
			e := v - float32(factor*inNibble(v, inverse))
			sum += float32(e * e)
		}
		if best == 0 || sum < least {
			best, least = s, sum
		}
	}
	return best
}

// inNibble returns x·inverse rounded to nearest even, within -8…7.
func inNibble(x, inverse float32) float32 {
	const whole = 3 << 22 // numbers near it are integers
	v := float32(float32(x*inverse)+whole) - whole
	if v > 7 {
		return 7
	}
	if v < -8 {
		return -8
	}
	return v
}

func floor(v float32) float32 {
	n := float32(int(v))
	if n > v {
		n--
	}
	return n
}

// unpackQuads writes the rows of int8 of whole groups.
func (portable) unpackQuads(dst, src, groups []uint32) {
	for g := 0; g < len(groups)/groupWords; g++ {
		for n := range NR {
			s := groups[g*groupWords+n%16/4] >> (n%4*8 + n/16*4) & 15
			for row := range groupQuads {
				word := src[(g*groupQuads+row)/2*NR+n] >> (row % 2 * 4)
				var quad uint32
				for b := range 4 {
					quad |= uint32(uint8(s*(word>>(8*b)&15-8))) << (8 * b)
				}
				dst[(g*groupQuads+row)*NR+n] = quad
			}
		}
	}
}
