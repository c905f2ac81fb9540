package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// LastAnswer is the last number of a text, or the mathematics around it if it is only a denominator, a power or an
// index there.
func LastAnswer(text string) (answer string, ok bool) {
	number, ok := lastNumber(text)
	if !ok {
		return "", false
	}
	t, at := scan(text), utf8.RuneCountInString(text[:strings.LastIndex(text, number)])
	if !t.inGroup(at) {
		return number, true
	}
	from, to := t.around(at, at+len(number))
	return undressed(t.row(from, at, to)), true
}

// lastNumber is the last match of `-?\d*\.?\d+`, taken from left to right.
func lastNumber(text string) (number string, ok bool) {
	for i := 0; i < len(text); i++ {
		start, at := i, i
		if text[at] == '-' {
			at++
		}
		end := at + tex.Digits(text[at:])
		if rest := text[end:]; len(rest) > 1 && rest[0] == '.' && tex.IsDigit(rest[1]) {
			end += 1 + tex.Digits(rest[1:])
		}
		if end > at {
			number, ok = text[start:end], true
			i = end - 1
		}
	}
	return number, ok
}
