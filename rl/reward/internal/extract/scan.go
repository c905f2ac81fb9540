package extract

import (
	"strings"
	"unicode"
)

// scanned is a text with the places at which an answer may begin or end, so that a search never looks at a stretch of
// text twice. Places count characters.
type scanned struct {
	r []rune

	answers, finals places // "answer" and "final answer", in any case
	boxes, braces   places // \boxed{ and }
	equals, lines   places // = and newlines

	// The places where an open environment must end, or can no longer.
	doubleDollars, dollars, brackets, parentheses, squares places

	is     places  // the word, after a space
	isFrom []int32 // where the spaces before each begin

	starts  places // of environments
	numbers places // befores, and the start of the text
	befores places // a space or = with the start of a number after it

	spaces, anys, ops stretch

	inside []environment // all of them, once they are listed
	listed bool
}

// stretch is the last run that was looked through: from every place in [from, end) it extends to end.
type stretch struct{ from, end int }

func scan(text string) *scanned {
	t := &scanned{r: []rune(text)}
	t.reserve(text)
	for i, c := range t.r {
		switch c {
		case '$':
			t.dollar(i)
		case '\n':
			t.lines.add(i)
			t.dollars.add(i)
			t.parentheses.add(i)
			t.squares.add(i)
		case ')':
			if t.at(i-1) == '\\' {
				t.parentheses.add(i - 1)
			}
		case '[':
			t.squares.add(i)
		case ']':
			t.squares.add(i)
			if t.at(i-1) == '\\' {
				t.brackets.add(i - 1)
			}
		case '}':
			t.braces.add(i)
		case '=':
			t.equals.add(i)
		case '\\':
			if t.follows(i, `\boxed{`) {
				t.boxes.add(i)
			}
		case 'a', 'A':
			if t.folds(i, "answer") {
				t.answers.add(i)
				if t.folds(i-6, "final ") {
					t.finals.add(i - 6)
				}
			}
		}
	}
	spaces := 0 // where the last run of spaces begins
	for i, c := range t.r {
		if c < unicode.MaxASCII && !telling[c] {
			continue
		}
		if c == 'i' && t.at(i+1) == 's' && t.space(i-1) {
			t.is.add(i)
			t.isFrom = append(t.isFrom, int32(spaces))
		} else if t.space(i) && !t.space(i-1) {
			spaces = i
		}
		if t.startsEnvironment(i) {
			if _, ok := t.environment(i, false); ok {
				t.starts.add(i)
			}
		}
		if t.startsNumber(i) {
			t.befores.add(i)
		}
	}
	t.numbers = t.befores
	if len(t.r) > 0 && t.befores.next(0) != 0 {
		t.numbers.all = append([]int32{0}, t.befores.all...)
	}
	return t
}

// telling are the ASCII characters at which an environment, a number or "is" may begin.
var telling = [unicode.MaxASCII]bool{'$': true, '\\': true, '-': true, 'i': true, '=': true, ' ': true, '\t': true,
	'\n': true, '\v': true, '\f': true, '\r': true}

// reserve makes room for what a hostile text may be full of.
func (t *scanned) reserve(text string) {
	for sign, lists := range map[string][]*places{"$": {&t.doubleDollars, &t.dollars, &t.starts}, "]": {&t.squares},
		"=": {&t.equals}, "}": {&t.braces}} {
		if n := strings.Count(text, sign); n > 1000 {
			for _, p := range lists {
				p.all = make([]int32, 0, n+n/8)
			}
		}
	}
}

func (t *scanned) dollar(i int) {
	if t.at(i+1) == '$' {
		t.doubleDollars.add(i)
	}
	if t.at(i-1) != '\\' {
		t.dollars.add(i)
	}
}

// at is the character at i, 0 outside the text.
func (t *scanned) at(i int) rune {
	if i < 0 || i >= len(t.r) {
		return 0
	}
	return t.r[i]
}

// follows reports whether the ASCII word is at i.
func (t *scanned) follows(i int, word string) bool {
	if i < 0 || i+len(word) > len(t.r) {
		return false
	}
	for k := range len(word) {
		if t.r[i+k] != rune(word[k]) {
			return false
		}
	}
	return true
}

// folds is follows in any case; word is in lower case.
func (t *scanned) folds(i int, word string) bool {
	if i < 0 || i+len(word) > len(t.r) {
		return false
	}
	for k := range len(word) {
		if unicode.ToLower(t.r[i+k]) != rune(word[k]) {
			return false
		}
	}
	return true
}

// pass returns the end of the run of characters from i on for which is holds.
func (t *scanned) pass(last *stretch, i int, is func(rune) bool) int {
	if last.from <= i && i < last.end {
		return last.end
	}
	from := i
	for i < len(t.r) && is(t.r[i]) {
		if i++; i == last.from {
			i = last.end
		}
	}
	if i > from {
		*last = stretch{from, i}
	}
	return i
}

func (t *scanned) skipSpaces(i int) int { return t.pass(&t.spaces, i, isSpace) }

func (t *scanned) space(i int) bool { return i >= 0 && i < len(t.r) && isSpace(t.r[i]) }

// isSpace is unicode.IsSpace, quick about ASCII.
func isSpace(c rune) bool {
	if c < unicode.MaxASCII {
		return c == ' ' || c >= '\t' && c <= '\r'
	}
	return unicode.IsSpace(c)
}

func (t *scanned) digit(i int) bool { return i >= 0 && i < len(t.r) && unicode.IsDigit(t.r[i]) }

// digits is the end of the digits from i on.
func (t *scanned) digits(i int) int {
	for t.digit(i) {
		i++
	}
	return i
}

// lineEnd is the first newline at i or later, or the end of the text.
func (t *scanned) lineEnd(i int) int {
	if n := t.lines.next(i); n >= 0 {
		return n
	}
	return len(t.r)
}
