package fake

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// classes is the number of classes of tokens besides that of the end tokens: token v is in class v mod classes.
const classes = 128

// The shape of the distributions.
const (
	spread  = 4   // the noise of a logit is uniform in [0, spread)
	gain    = 24  // of a bias
	endBias = 3.5 // of the class of end tokens, so that some samples end by themselves
)

// table says how the tokens of a base model are divided into classes.
type table struct {
	salt    uint64
	vocab   int
	ends    map[int32]bool
	members [classes + 1][]int32 // the tokens of each class; the last one has the end tokens
}

func newTable(salt uint64, vocab int, ends []int32) table {
	t := table{salt: salt, vocab: vocab, ends: map[int32]bool{}}
	for _, id := range ends {
		t.ends[id] = true
	}
	for v := range int32(vocab) {
		c := t.class(v)
		t.members[c] = append(t.members[c], v)
	}
	return t
}

func (t *table) class(v int32) int {
	if t.ends[v] {
		return classes
	}
	return int(v) % classes
}

// prefix is the hash of the tokens before a position.
type prefix uint64

func (t *table) start() prefix { return prefix(t.salt) }

func (p prefix) then(token int32) prefix { return prefix(mix(uint64(p) + uint64(token) + 1)) }

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit maps a hash to [0,1).
func unit(x uint64) float64 { return float64(x>>11) * 0x1p-53 }

// row is the distribution of the next token: one value for all tokens of a class.
type row struct {
	t       *table
	logprob [classes + 1]float64 // nats, of one token
	p       [classes + 1]float64 // of one token
	mass    [classes + 1]float64 // of the class
}

// row computes the distribution behind a prefix with the biases of a state.
func (t *table) row(at prefix, bias *[classes + 1]float64) *row {
	r := &row{t: t}
	top := math.Inf(-1)
	for c := range r.logprob {
		r.logprob[c] = spread*unit(mix(uint64(at)^uint64(c+1)<<40)) + bias[c]
		if len(t.members[c]) > 0 {
			top = max(top, r.logprob[c])
		}
	}
	r.logprob[classes] += endBias
	sum := 0.0
	for c, l := range r.logprob {
		r.p[c] = elementary.Exp(l - top)
		sum += float64(float64(len(t.members[c])) * r.p[c])
	}
	lse := top + math.Log(sum)
	for c := range r.logprob {
		r.logprob[c] -= lse
		r.p[c] /= sum
		r.mass[c] = float64(len(t.members[c])) * r.p[c]
	}
	return r
}

// of is the log-probability of a token: the same bits for the sampler and the trainer.
func (r *row) of(token int32) float32 { return float32(r.logprob[r.t.class(token)]) }

// entropy of the distribution, and the mean of p·(entropy + log p), nats.
func (r *row) entropy() (h, centre float64) {
	for c, m := range r.mass {
		if m > 0 {
			h -= float64(m * r.logprob[c])
		}
	}
	for c, m := range r.mass {
		if m > 0 {
			centre += float64(m * r.p[c] * (h + r.logprob[c]))
		}
	}
	return h, centre
}

// logits has the log-probability of every token.
func (r *row) logits() []float32 {
	all := make([]float32, r.t.vocab)
	for v := range all {
		all[v] = r.of(int32(v))
	}
	return all
}
