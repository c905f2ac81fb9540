package tokenizer

import (
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/charclass"
)

// classes has the class of each character: in a table below U+10000, by search beyond.
type classes struct {
	low                  [1 << 16]class
	letterSet, numberSet *unicode.RangeTable
}

func newClasses() *classes {
	c := &classes{letterSet: charclass.Table("L"), numberSet: charclass.Table("N")}
	c.fill(c.letterSet, letter)
	c.fill(c.numberSet, number)
	c.fill(unicode.White_Space, space)
	return c
}

// fill gives a class to the characters of a table.
func (c *classes) fill(table *unicode.RangeTable, k class) {
	for _, r := range table.R16 {
		for at := int(r.Lo); at <= int(r.Hi); at += int(r.Stride) {
			c.low[at] = k
		}
	}
}

func (c *classes) of(r rune) class {
	switch {
	case uint32(r) < uint32(len(c.low)):
		return c.low[r]
	case unicode.Is(c.letterSet, r):
		return letter
	case unicode.Is(c.numberSet, r):
		return number
	}
	return other // no white space lies beyond
}

// first returns the first character of s, its length in bytes and its class.
// Past the end it returns length 0 and class space.
func (c *classes) first(s string) (rune, int, class) {
	if s == "" {
		return 0, 0, space
	}
	if b := s[0]; b < utf8.RuneSelf {
		return rune(b), 1, c.low[b]
	}
	r, n := utf8.DecodeRuneInString(s)
	return r, n, c.of(r)
}

// run returns the end of the run of class k that starts at i.
func (c *classes) run(s string, i int, k class) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf {
			if c.low[b] != k {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if c.of(r) != k {
			break
		}
		i += n
	}
	return i
}
