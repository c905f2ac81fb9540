package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// seams are the places in a text of characters where nothing merges, whatever
// the text around them: before a marker, unless a rule joins the character to
// its left with it. The text between seams can be merged separately, with the
// same ids. So a text that is one word to the file, as all of Gemma's are, becomes
// many short ones, and most words of it were met before.
type seams struct {
	none   bool          // a rule may join anything with a marker
	joined map[rune]bool // the characters that a rule joins with the marker after them
}

// newSeams finds the seams that the rules of a model leave; tokens are the entries of its vocabulary. A symbol has
// the spelling of the text that it stands for, except the unknown token and the <0xNN> tokens, and what is made of
// these: with a rule that joins such with a marker there are no seams.
func newSeams(m *modelPart, tokens []entry) seams {
	if _, has := m.vocab[marker]; !has || !spelledOnce(m, tokens) {
		return seams{none: true} // a marker that is no symbol may become one unknown token with its neighbours
	}
	s := seams{joined: make(map[rune]bool)}
	for _, rule := range m.rules.slots {
		if rule.value == none || !strings.HasPrefix(tokens[uint32(rule.pair)].name, marker) {
			continue
		}
		left := tokens[rule.pair>>32].name
		if standsForOther(m, left) {
			return seams{none: true}
		}
		r, _ := utf8.DecodeLastRuneInString(left)
		s.joined[r] = true
	}
	return s
}

// spelledOnce reports whether no id has two spellings.
func spelledOnce(m *modelPart, tokens []entry) bool {
	n := 0
	for i := range tokens {
		if tokens[i].known {
			n++
		}
	}
	return n == len(m.vocab)
}

// standsForOther reports whether a symbol may end in text other than its spelling's end.
func standsForOther(m *modelPart, name string) bool {
	if m.UnkToken != nil && strings.HasSuffix(name, *m.UnkToken) {
		return true
	}
	_, isByte := byteToken(name[max(0, len(name)-len("<0xNN>")):])
	return isByte
}

// next scans to the next seam.
func (s seams) next(text string) int {
	if s.none {
		return len(text)
	}
	at := 0
	if strings.HasPrefix(text, marker) {
		at = len(marker)
	}
	for {
		i := strings.Index(text[at:], marker)
		if i < 0 {
			return len(text)
		}
		at += i
		if r, _ := utf8.DecodeLastRuneInString(text[:at]); !s.joined[r] {
			return at
		}
		at += len(marker)
	}
}
