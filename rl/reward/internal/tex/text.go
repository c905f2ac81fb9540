package tex

import (
	"strings"
	"unicode"
)

// MaxAnswer is the longest answer that is read, in bytes; a longer one counts as it is spelled.
const MaxAnswer = 8 << 10

// IsDigit reports whether c is one of 0 to 9.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// Digits returns how many digits a text begins with.
func Digits(text string) int {
	n := 0
	for n < len(text) && IsDigit(text[n]) {
		n++
	}
	return n
}

// IsLetter reports whether c is one of a to z and A to Z.
func IsLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// TrimSpace takes off white space as Python does.
func TrimSpace(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f })
}
