// Package speech turns the tokens of an answer into text, and the text into thoughts, content and calls of tools, while
// it is written.
package speech

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// Speech turns the tokens of one answer into text piece by piece. A piece ends with a whole character. The text ends
// before the first stop string, and what may be the beginning of one is held back until that is decided.
type Speech struct {
	Decoder *tokenizer.Decoder
	Stops   []string
	held    string
	ended   bool
	Stop    string // the stop string that ended the text; "" if none did
}

// Write takes the next token and returns the text that is certain now, often "".
func (s *Speech) Write(token int32) string { return s.add(s.Decoder.Write(token)) }

// End returns the rest of the text.
func (s *Speech) End() string {
	text := s.add(s.Decoder.Flush())
	if s.ended {
		return text
	}
	s.ended = true
	text += s.held
	s.held = ""
	return text
}

func (s *Speech) add(text string) string {
	if s.ended || text == "" {
		return ""
	}
	text = s.held + text
	s.held = ""
	if at, stop := FirstOf(text, s.Stops); at >= 0 {
		s.ended, s.Stop = true, stop
		return text[:at]
	}
	keep := 0
	for _, stop := range s.Stops {
		keep = max(keep, Overlap(text, stop))
	}
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep]
}

// FirstOf is the first of the strings that is complete in text, and where it begins, -1 if none is. So it does not
// matter in which pieces a text comes. Of two that end together it is the longer.
func FirstOf(text string, any []string) (at int, first string) {
	at = -1
	for _, s := range any {
		i := strings.Index(text, s)
		end, best := i+len(s), at+len(first)
		if i >= 0 && (at < 0 || end < best || end == best && i < at) {
			at, first = i, s
		}
	}
	return at, first
}

// Overlap is the length of the longest end of text that is the beginning of s, but not all of it.
func Overlap(text, s string) int {
	for n := min(len(text), len(s)-1); n > 0; n-- {
		if strings.HasSuffix(text, s[:n]) {
			return n
		}
	}
	return 0
}
