package reward

import (
	"encoding/json"
	"strings"
)

// maxVerdict is how deep the JSON of a judge's verdict may be nested.
const maxVerdict = 32

// FindJSON passes the JSON objects and lists in a text to fits, in their order, until one fits. A model that judges
// writes its verdict within prose, with or without a fence, and more braces and fences may follow.
func FindJSON(text string, fits func(raw []byte) bool) bool {
	for at := 0; ; at++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			return false
		}
		at += next
		if n := extent(text[at:]); n > 0 && json.Valid([]byte(text[at:at+n])) && fits([]byte(text[at:at+n])) {
			return true
		}
	}
}

// extent is the length of the object or list that a text begins with, 0 if it does not end or is too deep.
func extent(text string) int {
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
				return 0
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
