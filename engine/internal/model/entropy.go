package model

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// Entropies are the exact entropies of the distributions of a Score's rows over the whole vocabulary. They are
// computed from the row's logits, a block of the vocabulary at a time, and depend on nothing else.
type Entropies struct {
	H      []float32 // [T] nats, filled for rows with a target
	Centre []float32 // [T] sum of p²·(H + log p): the mean of p·(H + log p) over a draw, likewise
	G      []float32 // [T] dLoss/dH, read for Backward; nil is 0
}

// entropyBlock is the number of a row's columns that are exponentiated at once.
const entropyBlock = 256

// entropyOf returns the entropy of the softmax of logits, whose LogSumExp is lse, and its centre. Sums are float64 in
// order of the columns, with every product rounded.
func entropyOf(k *kernel.Set, logits []float32, lse float32) (entropy, centre float32) {
	var p [entropyBlock]float32
	var h, squares, weighted float64
	for from := 0; from < len(logits); from += entropyBlock {
		part := logits[from:min(from+entropyBlock, len(logits))]
		k.SoftmaxGrad(p[:], part, 1, lse)
		for j, x := range part {
			if p[j] == 0 {
				continue // 0·log 0 is 0
			}
			q, lp := float64(p[j]), float64(x-lse)
			h -= float64(q * lp)
			squares += float64(q * q)
			weighted += float64(float64(q*q) * lp)
		}
	}
	return float32(h), float32(weighted + float64(h*squares))
}

// entropyGradient replaces logits by the softmax part of a gradient, -sum·p, with e·dH/dlogit = -e·p·(log p + h) added.
func entropyGradient(k *kernel.Set, logits []float32, sum, lse, h, e float32) {
	var p [entropyBlock]float32
	for from := 0; from < len(logits); from += entropyBlock {
		part := logits[from:min(from+entropyBlock, len(logits))]
		k.SoftmaxGrad(p[:], part, 1, lse)
		for j, x := range part {
			if p[j] == 0 {
				part[j] = 0
				continue
			}
			lp := float32(x-lse) + h
			part[j] = p[j] * (-sum - float32(e*lp))
		}
	}
}

// want allocates the entropies of the scored rows, or none.
func (s *score) want(e *Entropies) {
	s.h, s.e = s.h[:0], s.e[:0]
	if e == nil {
		return
	}
	s.h = floats(s.h, len(s.rows))
	if e.G != nil {
		s.e = floats(s.e, len(s.rows))
		for i, t := range s.rows {
			s.e[i] = e.G[t]
		}
	}
}

// entropy fills the entropy of one row.
func (s *score) entropy(k *kernel.Set, i int, logits []float32, e *Entropies) {
	t := s.rows[i]
	e.H[t], e.Centre[t] = entropyOf(k, logits, s.lse[i])
	s.h[i] = e.H[t]
}
