// Package foreign makes text that others wrote fit for a log or a terminal: a worker's name, a client's path, the error
// of a server, what a program printed. Such text may be as long as its author likes, end lines and begin others that
// look like ours, and move the cursor. [Line] and [Text] bound and quote it, [Handler] and [Rate] bound how much of it
// is written. Text that goes back to its author, or into JSON, needs none of this.
package foreign

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLine is the largest number of bytes of a line that Line keeps.
	maxLine = 1 << 10
	// MaxText is the largest number of bytes that Text keeps.
	MaxText = 16 << 10
)

// Line returns text as a part of one line: cut after MaxLine bytes, with ends of lines and all other characters that
// control a terminal quoted as in Go.
func Line(text string) string { return quote(Cut(text, maxLine), "") }

// Text returns text that may have several lines, cut after MaxText bytes. Each line after the first is indented, so
// that none looks like the beginning of another message; other characters that control a terminal are quoted.
func Text(text string) string {
	text = strings.TrimRight(strings.ReplaceAll(Cut(text, MaxText), "\r\n", "\n"), "\n")
	return strings.ReplaceAll(quote(text, "\n\t"), "\n", "\n  ")
}

// Plain returns the whole text with its lines and tabs, and the other characters that control a terminal quoted: for a
// person who asked to see just this text.
func Plain(text string) string { return quote(text, "\n\t") }

// Cut returns the beginning of a text that has more than most bytes, and says how long it is.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := most
	for at > 0 && at > most-utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	// a copy, so that the rest can be freed
	return fmt.Sprintf("%s… (cut; %d bytes in all)", strings.Clone(text[:at]), len(text))
}

// controls reports characters that move the cursor, change the state of a terminal, end a line, or let text run from
// right to left although it is not written that way.
func controls(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// quote quotes the characters that control a terminal, except those in keep, and bytes that are no UTF-8.
func quote(text, keep string) string {
	fit := func(r rune) bool { return !controls(r) || strings.ContainsRune(keep, r) }
	clean := true
	for _, r := range text {
		clean = clean && r != utf8.RuneError && fit(r)
	}
	if clean {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case fit(r):
			b.WriteString(text[:size])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}
