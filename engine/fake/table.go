package fake

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// classes is the number of classes of tokens besides the class of the end tokens.
const classes = 128

// The shape of the distributions.
const (
	spread    = 300 // a class has a weight of 1 to 1 + spread
	gain      = 24  // of a bias
	endWeight = 100 // of the class of end tokens, so that some samples end before the limit
	least     = 1e-200
)

// table says how the tokens of a base model are divided into classes.
type table struct {
	salt    uint64
	vocab   int
	ends    map[int32]bool
	phrases phrases
	class   []int                // of each token
	members [classes + 1][]int32 // the tokens of each class; the last one has the end tokens
}

// newTable divides the tokens: each of a phrase has a class to itself, and the others share what is left.
func newTable(salt uint64, vocab int, ends []int32, said [][]int32) table {
	t := table{salt: salt, vocab: vocab, ends: map[int32]bool{}, phrases: newPhrases(said), class: make([]int, vocab)}
	own := map[int32]int{}
	for _, tokens := range said {
		for _, id := range tokens {
			if _, ok := own[id]; !ok {
				own[id] = len(own)
			}
		}
	}
	for _, id := range ends {
		t.ends[id] = true
	}
	for v := range int32(vocab) {
		c, alone := own[v]
		switch {
		case t.ends[v]:
			c = classes
		case !alone:
			c = len(own) + int(v)%(classes-len(own))
		}
		t.class[v] = c
		t.members[c] = append(t.members[c], v)
	}
	return t
}

// prefix stands for the tokens before a position: their hash, and the node of a phrase.
type prefix struct {
	hash uint64
	node int
}

func (t *table) start() prefix { return prefix{hash: t.salt} }

func (t *table) then(p prefix, token int32) prefix {
	return prefix{hash: mix(p.hash + uint64(token) + 1), node: t.phrases.then(p.node, token)}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit maps a hash to [0,1).
func unit(x uint64) float64 { return float64(x>>11) * 0x1p-53 }

// row is the distribution of the next token: one probability for all tokens of a class.
type row struct {
	t    *table
	p    [classes + 1]float64 // of one token
	mass [classes + 1]float64 // of the class
}

// factors multiply the weights of the classes by the biases of a state; the largest factor is 1.
func (t *table) factors(bias *[classes + 1]float64) (f [classes + 1]float64) {
	top := slices.Max(bias[:])
	for c, b := range bias {
		f[c] = max(elementary.Exp(b-top), least)
	}
	f[classes] *= endWeight
	return f
}

// row computes the distribution behind a prefix.
func (t *table) row(at prefix, factors *[classes + 1]float64) *row {
	r, sum := &row{t: t}, 0.0
	for c, f := range factors {
		u := unit(mix(at.hash ^ uint64(c+1)<<40))
		r.p[c] = f * (1 + float64(spread*u*u*u))
	}
	t.boost(at.node, &r.p)
	for c, p := range r.p {
		sum += float64(float64(len(t.members[c])) * p)
	}
	for c := range r.p {
		r.p[c] = max(r.p[c]/sum, least)
		r.mass[c] = float64(len(t.members[c])) * r.p[c]
	}
	return r
}

// of is the log-probability of a token, nats: the same bits for the sampler and the trainer.
func (r *row) of(token int32) float32 { return float32(r.log(r.t.class[token])) }

func (r *row) log(class int) float64 { return elementary.Log(r.p[class]) }

// entropy of the distribution, the mean of p·(entropy + log p), and the log-probability of a token of each class, nats.
// Logarithms are most of what this service computes, so they are taken once.
func (r *row) entropy() (h, centre float64, logs [classes + 1]float64) {
	for c, m := range r.mass {
		if m > 0 {
			logs[c] = r.log(c)
			h -= float64(m * logs[c])
		}
	}
	for c, m := range r.mass {
		centre += float64(m * r.p[c] * (h + logs[c]))
	}
	return h, centre, logs
}
