package tex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// measure is a word that is dropped if it is not part of another. It matches the expression
// `(^|[^\p{L}\p{N}_])word($|[^\p{L}\p{N}_])`, in which a point is any character.
type measure struct {
	head  string // the word up to its first point
	rest  string // from there on
	token string // letters and digits that are a word of the text if the measure is in it
}

func newMeasure(word string) measure {
	m := measure{head: word}
	if i := strings.IndexByte(word, '.'); i >= 0 {
		m.head, m.rest = word[:i], word[i:]
	}
	m.token = strings.FieldsFunc(m.head, parts)[0]
	return m
}

// parts reports whether r separates words.
func parts(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' }

// dropMeasures drops units, each in turn, twice. A word that the text does not have need not be looked for, and no new
// ones come about: what is dropped leaves what stood on either side.
func dropMeasures(text string) string {
	tokens := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, parts) {
		tokens[word] = true
	}
	for range 2 {
		for _, m := range measures() {
			if !tokens[m.token] {
				continue
			}
			if t := m.drop(text); t != "" {
				text = t
			}
		}
	}
	return text
}

// drop takes the word out of a text; the characters on both sides stay, and each one ends or begins one word only.
func (m measure) drop(text string) string {
	var out strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(text[at:], m.head)
		if i < 0 {
			break
		}
		at += i
		end, ok := m.end(text, at)
		if !ok || !m.begins(text, at, done) {
			at++
			continue
		}
		after, n := utf8.DecodeRuneInString(text[end:])
		if n > 0 && !parts(after) {
			at++
			continue
		}
		out.WriteString(text[done:at])
		out.WriteString(text[end : end+n])
		done = end + n
		at = done
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// begins reports whether a word may begin at a place, before which the character at done is the first that is free.
func (m measure) begins(text string, at, done int) bool {
	before, n := utf8.DecodeLastRuneInString(text[:at])
	return at == 0 || at-n >= done && parts(before)
}

// end is the end of the word that begins at a place.
func (m measure) end(text string, at int) (end int, ok bool) {
	at += len(m.head)
	for _, c := range m.rest {
		r, n := utf8.DecodeRuneInString(text[at:])
		if n == 0 || r == '\n' || c != '.' && r != c {
			return 0, false
		}
		at += n
	}
	return at, true
}
