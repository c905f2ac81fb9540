package sampler

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
)

// drawer turns a row of logits into a token. It owns its memory and is for one goroutine.
type drawer struct {
	p      []float32 // [V] unnormalised probabilities
	blocks []float64 // their sums by pickBlock
	top    []int32   // candidates, likeliest first
}

// draw returns the token that the uniform number u in [0,1) picks from row [V]: at temperature 0 the likeliest (the
// first of equal ones), else by the cumulative sum of softmax(row/temperature), first cut to the tokens that have at
// least min p times the probability of the likeliest, then to the top k, then to the
// smallest set of likeliest tokens that has a share of top p.
func (d *drawer) draw(k *kernel.Set, row []float32, s *Request, u float64) int32 {
	if s.temperature == 0 {
		return argmax(row)
	}
	d.weigh(k, row, s.temperature)
	d.raise(s.minP)
	if s.topK == 0 && s.topP == 1 {
		return d.pick(u)
	}
	d.cut(row, s.topK, s.topP)
	return d.pickTop(u)
}

func argmax(row []float32) int32 {
	best := 0
	for i, v := range row {
		if v > row[best] {
			best = i
		}
	}
	return int32(best)
}

// weigh fills d.p with exp((row - max)/temperature).
func (d *drawer) weigh(k *kernel.Set, row []float32, temperature float64) {
	if cap(d.p) < len(row) {
		d.p = kernel.Aligned(len(row))
	}
	d.p = d.p[:len(row)]
	top := k.Max(row)
	if temperature == 1 {
		k.ExpSum(d.p, row, top)
		return
	}
	for i, v := range row {
		d.p[i] = float32(float64(v-top) / temperature)
	}
	k.Exp(d.p, d.p)
}

// raise removes the tokens with less than minP times the probability of the likeliest one, whose entry in d.p is 1.
func (d *drawer) raise(minP float64) {
	if minP == 0 {
		return
	}
	for i, p := range d.p {
		if float64(p) < minP {
			d.p[i] = 0
		}
	}
}

// pickBlock is how many tokens pick first takes together.
const pickBlock = 64

// pick walks the cumulative sum in the order of tokens, first by blocks.
func (d *drawer) pick(u float64) int32 {
	d.blocks = d.blocks[:0]
	total := 0.0
	for at := 0; at < len(d.p); at += pickBlock {
		sum := sum4(d.p[at:min(at+pickBlock, len(d.p))])
		d.blocks = append(d.blocks, sum)
		total += sum
	}
	rest, last := u*total, 0
	for b, sum := range d.blocks {
		if sum == 0 {
			continue
		}
		if last = b; rest < sum {
			break
		}
		rest -= sum
	}
	at := last * pickBlock
	pick := at
	for i, p := range d.p[at:min(at+pickBlock, len(d.p))] {
		if p == 0 {
			continue
		}
		pick = at + i // the last one, if rounding uses up the sum
		if rest -= float64(p); rest < 0 {
			break
		}
	}
	return int32(pick)
}

// sum4 adds with four accumulators.
func sum4(p []float32) float64 {
	var s [4]float64
	for ; len(p) >= 4; p = p[4:] {
		s[0], s[1], s[2], s[3] = s[0]+float64(p[0]), s[1]+float64(p[1]), s[2]+float64(p[2]), s[3]+float64(p[3])
	}
	for i, v := range p {
		s[i] += float64(v)
	}
	return s[0] + s[1] + (s[2] + s[3])
}

// cut fills d.top with the candidates, likeliest first and equal ones by id.
func (d *drawer) cut(row []float32, topK int, topP float64) {
	total := 0.0
	for _, p := range d.p {
		total += float64(p)
	}
	least := float32(0)
	if topK == 0 { // tokens below this together have less than 1 - topP, so none of them is a candidate
		least = float32((1 - topP) / float64(len(row)) * total / 2)
	}
	d.top = d.top[:0]
	for i, p := range d.p {
		if p >= least && p > 0 {
			d.top = append(d.top, int32(i))
		}
	}
	d.top = best(d.top, row, topK)
	if topK > 0 {
		total = d.share()
	}
	sum := 0.0
	for n, i := range d.top {
		if sum += float64(d.p[i]); topP < 1 && sum >= topP*total {
			d.top = d.top[:n+1]
			return
		}
	}
}

// share is the sum of the candidates.
func (d *drawer) share() float64 {
	sum := 0.0
	for _, i := range d.top {
		sum += float64(d.p[i])
	}
	return sum
}

// pickTop walks the candidates.
func (d *drawer) pickTop(u float64) int32 {
	rest := u * d.share()
	for _, i := range d.top {
		if rest -= float64(d.p[i]); rest < 0 {
			return i
		}
	}
	return d.top[len(d.top)-1]
}

// best sorts ids by their logits in row, the largest first and equal ones by id, and returns the first k; 0 is all.
// ids is reused.
func best(ids []int32, row []float32, k int) []int32 {
	less := func(a, b int32) int {
		switch {
		case row[a] > row[b]:
			return -1
		case row[a] < row[b]:
			return 1
		}
		return int(a) - int(b)
	}
	if k == 0 || k >= len(ids) {
		slices.SortFunc(ids, less)
		return ids
	}
	head := ids[:k]
	slices.SortFunc(head, less)
	for _, id := range ids[k:] {
		if less(id, head[k-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(head, id, less)
		copy(head[at+1:], head[at:k-1])
		head[at] = id
	}
	return head
}

// logprob is the log-probability of a token in a row whose log-sum-exp is lse: the bits that training computes.
func logprob(row []float32, lse float32, token int32) float32 { return row[token] - lse }
