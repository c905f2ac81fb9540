package game

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cursor reads the moves in an action: next goes to the last `\boxed{` first and then to those before it, the other
// methods read what follows from left to right. Digits and spaces are what Python's \d and \s match.
//
//	for c := moves(action); !found && c.next(); {
//		guess, found = c.number()
//	}
type cursor struct {
	text string
	open int // the brace at hand
	at   int // the next byte
}

func moves(action string) cursor { return cursor{text: action, open: len(action)} }

// next goes to the box before the one at hand, if there is one.
func (c *cursor) next() bool {
	const box = `\boxed`
	for i := c.open - 1; i >= len(box); i-- {
		if c.text[i] == '{' && c.text[i-len(box):i] == box {
			c.open, c.at = i, i+1
			return true
		}
	}
	return false
}

// byte takes one byte if it is the next.
func (c *cursor) byte(b byte) bool {
	if c.at == len(c.text) || c.text[c.at] != b {
		return false
	}
	c.at++
	return true
}

// close takes the brace at the end of a move.
func (c *cursor) close() bool { return c.byte('}') }

// spaces takes white space and returns how many characters it had.
func (c *cursor) spaces() int {
	for n := 0; ; n++ {
		if c.at < len(c.text) && '!' <= c.text[c.at] && c.text[c.at] <= '~' {
			return n
		}
		r, size := utf8.DecodeRuneInString(c.text[c.at:])
		if size == 0 || !unicode.IsSpace(r) && (r < 0x1c || r > 0x1f) {
			return n
		}
		c.at += size
	}
}

// letters takes ASCII letters.
func (c *cursor) letters() string {
	start := c.at
	for c.at < len(c.text) && isLetter(c.text[c.at]) {
		c.at++
	}
	return c.text[start:c.at]
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// number is a number without a sign. Value stops at the largest int; text is the number without leading zeros.
type number struct {
	value int
	text  string
}

// number takes digits.
func (c *cursor) number() (number, bool) {
	start, value := c.at, 0
	for c.at < len(c.text) && '0' <= c.text[c.at] && c.text[c.at] <= '9' {
		value = 10*value + int(c.text[c.at]-'0')
		c.at++
	}
	digits := c.text[start:c.at]
	foreign := c.at < len(c.text) && c.text[c.at] >= utf8.RuneSelf
	if !foreign && 0 < len(digits) && len(digits) < 18 && (digits[0] != '0' || len(digits) == 1) {
		return number{value, digits}, true
	}
	if foreign {
		digits += c.foreignDigits()
	}
	return parseNumber(digits)
}

// parseNumber reads digits that may be many and begin with zeros.
func parseNumber(digits string) (number, bool) {
	if digits == "" {
		return number{}, false
	}
	for len(digits) > 1 && digits[0] == '0' {
		digits = digits[1:]
	}
	v, err := strconv.Atoi(digits)
	if err != nil {
		v = math.MaxInt
	}
	return number{v, digits}, true
}

// foreignDigits takes digits of any script and returns them as ASCII.
func (c *cursor) foreignDigits() string {
	var b strings.Builder
	for {
		r, size := utf8.DecodeRuneInString(c.text[c.at:])
		if !unicode.Is(unicode.Nd, r) {
			return b.String()
		}
		b.WriteByte('0' + digit(r))
		c.at += size
	}
}

// digit is the value of a decimal digit: the ranges of such runes begin with a zero and hold whole decades.
func digit(r rune) byte {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	return 0
}

// numbers fills out with numbers separated by white space of up to wide characters, and takes the closing brace.
func (c *cursor) numbers(out []number, wide int) bool {
	for i := range out {
		if i > 0 {
			if n := c.spaces(); n == 0 || n > wide {
				return false
			}
		}
		var ok bool
		if out[i], ok = c.number(); !ok {
			return false
		}
	}
	return c.close()
}

// boxed writes numbers as an action.
func boxed(numbers ...int) string {
	b := []byte(`\boxed{`)
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(append(b, '}'))
}

// boxedText writes a word as an action.
func boxedText(word string) string { return `\boxed{` + word + `}` }
