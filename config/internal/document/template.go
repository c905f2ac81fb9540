package document

import (
	"fmt"
	"strings"
)

// part is a piece of a text: plain, or the inside of ${…}.
type part struct {
	text string
	expr bool
}

// splitText cuts a text at its interpolations.
func splitText(text string) ([]part, error) {
	var parts []part
	var plain strings.Builder
	for text != "" {
		i := strings.Index(text, "${")
		if i < 0 {
			break
		}
		if i > 0 && text[i-1] == '\\' {
			plain.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		plain.WriteString(text[:i])
		end := closing(text[i:])
		if end < 0 {
			return nil, fmt.Errorf("%s has ${ without its }; close it, or write \\${ for the plain characters",
				Quote(text[i:]))
		}
		if plain.Len() > 0 {
			parts = append(parts, part{text: plain.String()})
			plain.Reset()
		}
		parts = append(parts, part{text[i+2 : i+end], true})
		text = text[i+end+1:]
	}
	plain.WriteString(text)
	if plain.Len() > 0 {
		parts = append(parts, part{text: plain.String()})
	}
	return parts, nil
}

// closing returns the index of the } that closes the ${ at the start of text, or -1.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "${"):
			depth++
			i++
		case text[i] == '{':
			depth++
		case text[i] == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// cutTop cuts at the first comma that is not inside ${…}.
func cutTop(s string) (before, after string, found bool) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}
