package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/dlclark/regexp2"
	"golang.org/x/text/unicode/norm"
)

// normalizer rewrites the text between added tokens; nil leaves it alone.
type normalizer func(string) string

// patternPart is a pattern as tokenizer.json writes it.
type patternPart struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// normalizerPart is a "normalizer" section.
type normalizerPart struct {
	Type        string            `json:"type"`
	Normalizers []json.RawMessage `json:"normalizers"`
	StripLeft   bool              `json:"strip_left"`
	StripRight  bool              `json:"strip_right"`
	Prepend     string            `json:"prepend"`
	Pattern     patternPart       `json:"pattern"`
	Content     string            `json:"content"`
}

// absent reports whether a section is left out or null.
func absent(data json.RawMessage) bool {
	return len(data) == 0 || string(data) == "null"
}

// parseNormalizer reads a "normalizer" section. The Unicode forms are those of
// x/text, which breaks runs of more than 30 combining marks (the Stream-Safe
// Text Format of Unicode annex 15); no ordinary text has such a run.
func parseNormalizer(data json.RawMessage) (normalizer, error) {
	if absent(data) {
		return nil, nil
	}
	var p normalizerPart
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("tokenizer: normalizer: %w", err)
	}
	switch p.Type {
	case "Sequence":
		return normalizerSequence(p.Normalizers)
	case "NFC":
		return (&composer{}).normalize, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Lowercase":
		return lower, nil
	case "StripAccents":
		return stripAccents, nil
	case "Strip":
		return stripSpace(p.StripLeft, p.StripRight), nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return p.Prepend + s
		}, nil
	case "Replace":
		return replace(p.Pattern, p.Content)
	}
	return nil, fmt.Errorf("tokenizer: normalizer %q is not supported", p.Type)
}

func normalizerSequence(parts []json.RawMessage) (normalizer, error) {
	var all []normalizer
	for _, part := range parts {
		n, err := parseNormalizer(part)
		if err != nil {
			return nil, err
		}
		if n != nil {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return func(s string) string {
		for _, n := range all {
			s = n(s)
		}
		return s
	}, nil
}

// lower maps each character to lower case by itself. İ is the one character
// whose lower case is two.
func lower(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307"))
}

// stripAccents drops combining marks; files put a decomposing form before it.
func stripAccents(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return r
	}, s)
}

func stripSpace(left, right bool) normalizer {
	return func(s string) string {
		if left {
			s = strings.TrimLeftFunc(s, unicode.IsSpace)
		}
		if right {
			s = strings.TrimRightFunc(s, unicode.IsSpace)
		}
		return s
	}
}

// replace puts content, taken literally, in place of each match.
func replace(p patternPart, content string) (normalizer, error) {
	switch {
	case p.String != nil:
		return func(s string) string { return strings.ReplaceAll(s, *p.String, content) }, nil
	case p.Regex == nil:
		return nil, fmt.Errorf("tokenizer: normalizer Replace has neither a String nor a Regex pattern")
	}
	re, err := compile(*p.Regex)
	if err != nil {
		return nil, err
	}
	return func(s string) string {
		out, err := re.ReplaceFunc(s, func(regexp2.Match) string { return content }, -1, -1)
		if err != nil { // only a match time-out, and none is set
			return s
		}
		return out
	}, nil
}
