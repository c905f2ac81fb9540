package reward

import (
	"slices"
	"sort"
	"unicode"
)

// scanned is a text with the places at which an answer may begin or end, so that a search never looks at a stretch of text twice.
// Places count characters.
type scanned struct {
	r []rune

	answers, finals []int // where "answer" and "final answer" stand, in any case
	boxes, braces   []int // \boxed{ and }
	equals, lines   []int // = and newlines

	// Where an environment that is open must end, or can no longer.
	doubleDollars, dollars, brackets, parentheses, squares []int

	starts  []int // of environments
	befores []int // what may stand before a number: a space or = with the start of a number behind it

	spaces, anys, ops stretch
}

// stretch is the last run that was looked through: from every place in [from, end) it goes on to end.
type stretch struct{ from, end int }

func scan(text string) *scanned {
	t := &scanned{r: []rune(text)}
	for i, c := range t.r {
		switch c {
		case '$':
			t.dollar(i)
		case '\n':
			t.lines = append(t.lines, i)
			t.dollars, t.parentheses, t.squares = append(t.dollars, i), append(t.parentheses, i), append(t.squares, i)
		case ')':
			if t.at(i-1) == '\\' {
				t.parentheses = append(t.parentheses, i-1)
			}
		case '[':
			t.squares = append(t.squares, i)
		case ']':
			t.squares = append(t.squares, i)
			if t.at(i-1) == '\\' {
				t.brackets = append(t.brackets, i-1)
			}
		case '}':
			t.braces = append(t.braces, i)
		case '=':
			t.equals = append(t.equals, i)
		case '\\':
			if t.follows(i, `\boxed{`) {
				t.boxes = append(t.boxes, i)
			}
		case 'a', 'A':
			if t.folds(i, "answer") {
				t.answers = append(t.answers, i)
				if t.folds(i-6, "final ") {
					t.finals = append(t.finals, i-6)
				}
			}
		}
	}
	for i := range t.r {
		if t.startsEnvironment(i) {
			if _, ok := t.environment(i, false); ok {
				t.starts = append(t.starts, i)
			}
		}
		if t.startsNumber(i) {
			t.befores = append(t.befores, i)
		}
	}
	return t
}

func (t *scanned) dollar(i int) {
	if t.at(i+1) == '$' {
		t.doubleDollars = append(t.doubleDollars, i)
	}
	if t.at(i-1) != '\\' {
		t.dollars = append(t.dollars, i)
	}
}

// at is the character at i, 0 outside the text.
func (t *scanned) at(i int) rune {
	if i < 0 || i >= len(t.r) {
		return 0
	}
	return t.r[i]
}

// follows reports whether the ASCII word stands at i.
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

// nextOf is the first of places at from or later, -1 if there is none.
func nextOf(places []int, from int) int {
	if i := sort.SearchInts(places, from); i < len(places) {
		return places[i]
	}
	return -1
}

// between are the places in [from, to].
func between(places []int, from, to int) []int {
	i := sort.SearchInts(places, from)
	n, _ := slices.BinarySearch(places[i:], to+1)
	return places[i : i+n]
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

func (t *scanned) skipSpaces(i int) int { return t.pass(&t.spaces, i, unicode.IsSpace) }

func (t *scanned) space(i int) bool { return i >= 0 && i < len(t.r) && unicode.IsSpace(t.r[i]) }
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
	if n := nextOf(t.lines, i); n >= 0 {
		return n
	}
	return len(t.r)
}
