package fake

import "github.com/seed-d9ad8ee0/trinity/hf/tokenizer"

// phrases is a trie of what a model tends to say. Its first node is outside every phrase.
type phrases []node

// node is the place behind the tokens on the way to it.
type node struct {
	next map[int32]int
	last bool // a phrase ends here
}

func newPhrases(list [][]int32) phrases {
	p := phrases{{next: map[int32]int{}}}
	for _, tokens := range list {
		at := 0
		for _, t := range tokens {
			if _, ok := p[at].next[t]; !ok {
				p[at].next[t] = len(p)
				p = append(p, node{next: map[int32]int{}})
			}
			at = p[at].next[t]
		}
		p[at].last = true
	}
	return p
}

// then is the node behind a token: a phrase continues, begins or is given up.
func (p phrases) then(at int, token int32) int {
	if n, ok := p[at].next[token]; ok {
		return n
	}
	return p[0].next[token] // 0 unless a phrase begins
}

// boost multiplies the weights of the tokens that continue a phrase, each of which has a class to itself, and of the
// end, which comes after phrases.
func (t *table) boost(at int, weights *[classes + 1]float64) {
	if len(t.phrases) == 1 {
		return
	}
	by := float64(t.vocab) / 4 // a quarter as likely as all others together
	if at != 0 {
		by *= 400
	}
	for token := range t.phrases[at].next {
		weights[t.class[token]] *= by
	}
	if t.phrases[at].last {
		weights[classes] *= by
	} else {
		weights[classes] /= 100
	}
}

// encode returns the tokens of phrases with the tokenizer of a model.
func encode(dir string, phrases []string) (list [][]int32, err error) {
	if len(phrases) == 0 {
		return nil, nil
	}
	tokens, err := tokenizer.Load(dir)
	if err != nil {
		return nil, err
	}
	for _, text := range phrases {
		list = append(list, tokens.Encode(text, false))
	}
	return list, nil
}
