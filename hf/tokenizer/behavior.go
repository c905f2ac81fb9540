package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/pattern"
)

// span is a stretch of text, byte offsets [start, end), that a pattern matched
// or that lies between matches.
type span struct {
	start, end int
	match      bool
}

// behavior turns the spans of a text, which cover it, into pieces.
type behavior func([]span) []span

func parseBehavior(name string) (behavior, error) {
	switch name {
	case "Isolated":
		return func(spans []span) []span { return spans }, nil
	case "Removed":
		return func(spans []span) []span {
			return slices.DeleteFunc(spans, func(s span) bool { return s.match })
		}, nil
	case "Contiguous":
		return contiguous, nil
	case "MergedWithPrevious":
		return mergedWithPrevious, nil
	case "MergedWithNext":
		return mergedWithNext, nil
	}
	return nil, fmt.Errorf("tokenizer: split behavior %q is not known", name)
}

// contiguous joins neighbours of one kind.
func contiguous(spans []span) (out []span) {
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].match == s.match {
			out[n-1].end = s.end
			continue
		}
		out = append(out, s)
	}
	return out
}

// mergedWithPrevious joins a match to the text before it.
func mergedWithPrevious(spans []span) (out []span) {
	for i, s := range spans {
		if s.match && i > 0 && !spans[i-1].match {
			out[len(out)-1].end = s.end
			continue
		}
		out = append(out, s)
	}
	return out
}

// mergedWithNext joins a match to the text after it.
func mergedWithNext(spans []span) (out []span) {
	for i, s := range slices.Backward(spans) {
		if s.match && i+1 < len(spans) && !spans[i+1].match {
			out[len(out)-1].start = s.start
			continue
		}
		out = append(out, s)
	}
	slices.Reverse(out)
	return out
}

// parseSplit reads a Split part. A known pattern whose words cover the text
// needs no regular expression when all words are kept and nothing is joined.
func parseSplit(p preTokenizerPart) (splitter, error) {
	keep, err := parseBehavior(p.Behavior)
	if err != nil {
		return splitter{}, err
	}
	switch {
	case p.Pattern.String != nil:
		if *p.Pattern.String == "" {
			return splitter{}, fmt.Errorf("tokenizer: Split by an empty string")
		}
		return pieces(func(s string) []span { return literal(s, *p.Pattern.String) }, p.Invert, keep), nil
	case p.Pattern.Regex == nil:
		return splitter{}, fmt.Errorf("tokenizer: Split has neither a String nor a Regex pattern")
	}
	next := known(*p.Pattern.Regex)
	if next != nil && (p.Behavior == "Isolated" || p.Behavior == "Removed" && p.Invert) {
		return splitter{next: next}, nil
	}
	re, err := compile(*p.Pattern.Regex)
	if err != nil {
		return splitter{}, err
	}
	return pieces(func(s string) []span { return matches(s, re) }, p.Invert, keep), nil
}

// pieces makes a splitter out of a search, which returns the matches only.
func pieces(search func(string) []span, invert bool, keep behavior) splitter {
	return splitter{cut: func(out []string, s string) []string {
		var all []span
		done := 0
		for _, m := range search(s) {
			if done < m.start {
				all = append(all, span{done, m.start, invert})
			}
			all = append(all, span{m.start, m.end, !invert})
			done = m.end
		}
		if done < len(s) {
			all = append(all, span{done, len(s), invert})
		}
		for _, p := range keep(all) {
			if p.start < p.end {
				out = append(out, s[p.start:p.end])
			}
		}
		return out
	}}
}

func literal(s, pattern string) (found []span) {
	for from := 0; ; {
		i := strings.Index(s[from:], pattern)
		if i < 0 {
			return found
		}
		found = append(found, span{start: from + i, end: from + i + len(pattern)})
		from += i + len(pattern)
	}
}

// runes makes a splitter whose matches are the single characters that is holds for.
func runes(is func(rune) bool, name string) (splitter, error) {
	keep, err := parseBehavior(name)
	if err != nil {
		return splitter{}, err
	}
	return pieces(func(s string) (found []span) {
		for i, r := range s {
			if is(r) {
				_, n := utf8.DecodeRuneInString(s[i:])
				found = append(found, span{start: i, end: i + n})
			}
		}
		return found
	}, false, keep), nil
}

// compile reads a regular expression. The syntax of these files is Oniguruma's,
// which package pattern shares for all patterns in use.
func compile(expr string) (*pattern.Pattern, error) {
	re, err := pattern.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: pattern %q: %w", expr, err)
	}
	return re, nil
}

// matches returns the matches of re in s. Empty ones cut the text too.
func matches(s string, re *pattern.Pattern) (found []span) {
	re.Each(s, func(loc []int) bool {
		found = append(found, span{start: loc[0], end: loc[1]})
		return true
	})
	return found
}
