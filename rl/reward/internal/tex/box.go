// Package tex works on LaTeX as text: boxes, braces, fractions, units, number words.
package tex

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// BoxMode says which boxes of a text are its answer.
type BoxMode uint8

const (
	AllBoxes  BoxMode = iota // every box
	LastBoxes                // the last, and those close before it
)

var listSeparator = regexp.MustCompile(`\b(and|or)\b|,|;`)

// OpenBoxes joins the contents of the text's \boxed{…} and \fbox{…} with commas, or returns text without
// a box as it is. A box that never closes counts only if it is the last.
func OpenBoxes(text string, mode BoxMode) string {
	var found []string // from last to first
	boxes := boxCommands(text)
	limit, lastStart := len(text), -1
	for i := len(boxes) - 1; i >= 0; i-- {
		start, brace := boxes[i].start, firstNonSpace(text[:limit], boxes[i].end)
		if brace < 0 {
			break
		}
		end := ClosingBrace(text[:limit], brace)
		if end < 0 {
			if len(found) == 0 {
				found = append(found, text[brace:])
			}
			break
		}
		content := strings.TrimSpace(text[brace+1 : end])
		if mode == LastBoxes && lastStart >= 0 && !belongs(text[end+1:lastStart], content, found[len(found)-1]) {
			break
		}
		if len(found) == 0 || found[len(found)-1] != content {
			found = append(found, content)
		}
		lastStart, limit = start, start
	}
	if len(found) == 0 {
		return text
	}
	slices.Reverse(found)
	return strings.Join(found, ",")
}

// boxCommand is the place of a \\boxed or \\fbox, [start, end).
type boxCommand struct{ start, end int }

// boxCommands lists the box commands of a text in order.
func boxCommands(text string) (all []boxCommand) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\\')
		if i < 0 {
			return all
		}
		at += i
		for _, word := range []string{`\boxed`, `\fbox`} {
			if strings.HasPrefix(text[at:], word) {
				all = append(all, boxCommand{at, at + len(word)})
			}
		}
		at++
	}
}

// firstNonSpace is the first character from i on that is not a space, -1 if there is none.
func firstNonSpace(text string, i int) int {
	if k := strings.IndexFunc(text[i:], func(r rune) bool { return !unicode.IsSpace(r) }); k >= 0 {
		return i + k
	}
	return -1
}

// ClosingBrace is the index of the brace closing the one at open, or -1, also if there is none at open.
func ClosingBrace(text string, open int) int {
	if text[open] != '{' {
		return -1
	}
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// belongs reports whether a box is part of the list that the box after it ends.
func belongs(between, content, following string) bool {
	n := len([]rune(between))
	return n < 10 || content != following && n < 70 && listSeparator.MatchString(between)
}

// BraceRoots writes \sqrt3 as \sqrt{3}.
func BraceRoots(text string) string {
	parts := strings.Split(text, `\sqrt`)
	for i, part := range parts[1:] {
		part = strings.TrimLeftFunc(part, unicode.IsSpace)
		if part != "" && part[0] != '{' && part[0] != '[' {
			first, rest := firstRune(part)
			part = "{" + first + "}" + rest
		}
		parts[i+1] = part
	}
	return strings.Join(parts, `\sqrt`)
}

// BraceFractions writes \frac12 and \frac1{2} as \frac{1}{2}; a \frac without two characters after it leaves
// the whole text as it is.
func BraceFractions(text string) string {
	parts := strings.Split(text, `\frac`)
	for i, part := range parts[1:] {
		part = strings.TrimLeftFunc(part, unicode.IsSpace)
		if !strings.HasPrefix(part, "{") {
			a, rest := firstRune(part)
			b, tail := firstRune(rest)
			if b == "" {
				return text
			}
			if b != "{" {
				b = "{" + b + "}"
			}
			part = "{" + a + "}" + b + tail
		}
		parts[i+1] = part
	}
	return strings.Join(parts, `\frac`)
}

// SlashFraction writes a text that is two plain integers and a slash as \frac{a}{b}.
func SlashFraction(text string) string {
	a, b, found := strings.Cut(text, "/")
	if !found || !plainInteger(a) || !plainInteger(b) {
		return text
	}
	return `\frac{` + a + `}{` + b + `}`
}

// RootFraction is SlashFraction in which a text with a root counts as a whole number.
func RootFraction(text string) string {
	a, b, found := strings.Cut(text, "/")
	whole := func(part string) bool { return strings.Contains(part, "sqrt") || plainInteger(part) }
	if !found || strings.Contains(b, "/") || !whole(a) || !whole(b) {
		return text
	}
	return `\frac{` + a + `}{` + b + `}`
}

func plainInteger(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(n) == text
}

func firstRune(text string) (first, rest string) {
	for i := range text {
		if i > 0 {
			return text[:i], text[i:]
		}
	}
	return text, ""
}
