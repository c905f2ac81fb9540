package grammar

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Vocabulary is the tokens of a tokenizer that stand for text. It does not change.
type Vocabulary struct {
	words   []word   // in the order of their bytes
	texts   []string // by id; "" for tokens that stand for no text
	longest int      // bytes of a word
}

type word struct {
	text   string
	id     int32
	shared int // bytes with which the word before begins too
}

// NewVocabulary reads the tokens of a tokenizer. If some bytes beyond ASCII have no token of their own, words that end
// within a character are left out, since there might be none to complete it.
func NewVocabulary(t *tokenizer.Tokenizer) (*Vocabulary, error) {
	v := &Vocabulary{texts: make([]string, t.VocabSize())}
	var single set
	for id := range int32(len(v.texts)) {
		text := string(t.Bytes(id))
		if text == "" || t.IsSpecial(id) {
			continue
		}
		if len(text) == 1 {
			single.add(text[0], text[0])
		}
		v.words = append(v.words, word{text: text, id: id})
		v.texts[id] = text
		v.longest = max(v.longest, len(text))
	}
	for b := byte(' '); b <= '~'; b++ {
		if !single.has(b) {
			return nil, param.Invalid("", "the model has no token for %q alone; an answer that must have a form needs "+
				"one for each character of ASCII", b)
		}
	}
	if single[2] != math.MaxUint64 || single[3]>>2&(1<<51-1) != 1<<51-1 { // 0x80 to 0xbf, 0xc2 to 0xf4
		v.words = slices.DeleteFunc(v.words, func(w word) bool { return !utf8.ValidString(w.text) })
	}
	slices.SortFunc(v.words, func(a, b word) int {
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		return int(a.id - b.id)
	})
	for i := 1; i < len(v.words); i++ {
		a, b := v.words[i-1].text, v.words[i].text
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		v.words[i].shared = n
	}
	return v, nil
}

// mask has a bit for each token that may follow in a state. If none may, a text cannot be completed in these tokens,
// and it ends.
func (m *Matcher) mask(s *state) []uint64 {
	if s.mask != nil {
		return s.mask
	}
	if m.masks++; m.masks > mostMasks {
		m.forget()
		m.masks = 1
	}
	mask := make([]uint64, (len(m.words.texts)+63)/64)
	none := true
	m.path[0] = s
	dead := math.MaxInt // no word fits that shares more bytes with the last
	for _, w := range m.words.words {
		if w.shared > dead {
			continue
		}
		dead = math.MaxInt
		for at := w.shared; at < len(w.text); at++ {
			t := m.step(m.path[at], w.text[at])
			if t == nil {
				dead = at
				break
			}
			m.path[at+1] = t
		}
		if dead == math.MaxInt {
			mask[w.id/64] |= 1 << (w.id % 64)
			none = false
		}
	}
	if s.done || none {
		for _, id := range m.ends {
			mask[id/64] |= 1 << (id % 64)
		}
	}
	s.mask = mask
	return mask
}

// guide is a place in a text. It implements tinker.Guide.
type guide struct {
	m  *Matcher
	at *state
}

// Guide returns the place after the beginning of a text, which must be one.
func (m *Matcher) Guide(begun string) tinker.Guide { return guide{m, m.first}.after(begun) }

// Shape implements tinker.Guide.
func (g guide) Shape(row []float32) {
	g.m.mu.Lock()
	mask := g.m.mask(g.at)
	g.m.mu.Unlock()
	out := float32(math.Inf(-1))
	for i := range row {
		if word := i / 64; word >= len(mask) || mask[word]>>(i%64)&1 == 0 {
			row[i] = out
		}
	}
}

// After implements tinker.Guide.
func (g guide) After(token int32) tinker.Guide { return g.after(g.m.words.texts[token]) }

func (g guide) after(text string) guide {
	g.m.mu.Lock()
	defer g.m.mu.Unlock()
	for i := range len(text) {
		if g.at = g.m.step(g.at, text[i]); g.at == nil {
			return guide{g.m, &state{}} // the text is none of the grammar's: it ends
		}
	}
	return g
}
