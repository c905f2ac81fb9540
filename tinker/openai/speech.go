package openai

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// speech turns the tokens of one answer into text piece by piece. A piece ends with a whole character. The text ends
// before the first stop string, and what may be the beginning of one is held back until that is decided.
type speech struct {
	decoder *tokenizer.Decoder
	stops   []string
	held    string
	ended   bool
	stop    string // the stop string that ended the text; "" if none did
}

// write takes the next token and returns the text that is certain now, often "".
func (s *speech) write(token int32) string { return s.add(s.decoder.Write(token)) }

// end returns the rest of the text.
func (s *speech) end() string {
	text := s.add(s.decoder.Flush())
	if s.ended {
		return text
	}
	s.ended = true
	text += s.held
	s.held = ""
	return text
}

func (s *speech) add(text string) string {
	if s.ended || text == "" {
		return ""
	}
	text = s.held + text
	s.held = ""
	if at := firstOf(text, s.stops); at >= 0 {
		s.ended, s.stop = true, shortest(text[at:], s.stops)
		return text[:at]
	}
	keep := 0
	for _, stop := range s.stops {
		keep = max(keep, overlap(text, stop))
	}
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep]
}

// firstOf is the first place in text where one of the strings begins, -1 if none does.
func firstOf(text string, any []string) int {
	best := -1
	for _, s := range any {
		if at := strings.Index(text, s); at >= 0 && (best < 0 || at < best) {
			best = at
		}
	}
	return best
}

// shortest is the shortest of the strings that text begins with: the first that was complete.
func shortest(text string, any []string) (best string) {
	for _, s := range any {
		if strings.HasPrefix(text, s) && (best == "" || len(s) < len(best)) {
			best = s
		}
	}
	return best
}

// overlap is the length of the longest end of text that is the beginning of s, but not all of it.
func overlap(text, s string) int {
	for n := min(len(text), len(s)-1); n > 0; n-- {
		if strings.HasSuffix(text, s[:n]) {
			return n
		}
	}
	return 0
}
