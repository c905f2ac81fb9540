package reward

import (
	"encoding/json"
	"strings"
)

// maxVerdict is how deep the JSON of a judge's verdict may be nested.
const maxVerdict = 32

// FindJSON passes the JSON objects and lists in a text to fits, in their order, until one fits. A model that judges
// writes its verdict within prose, with or without a fence, and more braces and fences may follow. The work is linear
// in the text.
func FindJSON(text string, fits func(raw []byte) bool) bool {
	work := 4 * maxVerdict * (len(text) + 64)
	for at := 0; work > 0; at++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			return false
		}
		at += next
		n, read := extent(text[at:])
		if n > 0 && json.Valid([]byte(text[at:at+n])) && fits([]byte(text[at:at+n])) {
			return true
		}
		work -= read
	}
	return false
}

// extent is the length of the object or list that a text begins with, 0 if it does not end or is too deep, and how much
// was read to find that.
func extent(text string) (n, read int) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxVerdict {
				return 0, i
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, i
			}
		}
	}
	return 0, len(text)
}
