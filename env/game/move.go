package game

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// last tries what follows each `\boxed{` of an action, the last one first, and reports whether something fitted.
func (t *turn) last(action string, fits func(c *cursor) bool) bool {
	for at := strings.LastIndexByte(action, '{'); at >= 0; at = strings.LastIndexByte(action[:at], '{') {
		if !strings.HasSuffix(action[:at], `\boxed`) {
			continue
		}
		t.cursor.rest = action[at+1:]
		if fits(&t.cursor) {
			return true
		}
	}
	return false
}

// cursor reads a move from left to right. What counts as a digit or a space is what Python's \d and \s take.
type cursor struct{ rest string }

// byte takes one byte if it is the next.
func (c *cursor) byte(b byte) bool {
	if c.rest == "" || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

// close takes the brace at the end of a move.
func (c *cursor) close() bool { return c.byte('}') }

// spaces takes white space and returns how many characters it had.
func (c *cursor) spaces() int {
	for n := 0; ; n++ {
		if c.rest != "" && '!' <= c.rest[0] && c.rest[0] <= '~' {
			return n
		}
		r, size := utf8.DecodeRuneInString(c.rest)
		if size == 0 || !unicode.IsSpace(r) && (r < 0x1c || r > 0x1f) {
			return n
		}
		c.rest = c.rest[size:]
	}
}

// letters takes ASCII letters.
func (c *cursor) letters() string {
	n := 0
	for n < len(c.rest) && isLetter(c.rest[n]) {
		n++
	}
	word := c.rest[:n]
	c.rest = c.rest[n:]
	return word
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

// number is a number without a sign. Value stops at the largest int; text is the number without leading zeros.
type number struct {
	value int
	text  string
}

// number takes digits.
func (c *cursor) number() (number, bool) {
	n := 0
	for n < len(c.rest) && '0' <= c.rest[n] && c.rest[n] <= '9' {
		n++
	}
	digits := c.rest[:n]
	c.rest = c.rest[n:]
	if c.rest != "" && c.rest[0] >= utf8.RuneSelf {
		digits += c.foreignDigits()
	}
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
		r, size := utf8.DecodeRuneInString(c.rest)
		if !unicode.Is(unicode.Nd, r) {
			return b.String()
		}
		b.WriteByte('0' + digit(r))
		c.rest = c.rest[size:]
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

// numbers fills out with numbers separated by one white-space character each, and takes the closing brace.
func (c *cursor) numbers(out []number) bool {
	for i := range out {
		var ok bool
		if i > 0 && c.spaces() != 1 {
			return false
		}
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
