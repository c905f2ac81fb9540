package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-d9ad8ee0/trinity/internal/charclass"
)

// growing reads a "normalizer" section and adds up how much longer it can make
// a text: times in bytes, and the bytes put before it.
type growing struct {
	parts
	times   float64
	prepend int
}

// grow notes a part that makes a text at most so many times as long. The factors
// of Unicode's forms in UTF-8 are from its FAQ on normalization.
func (g *growing) grow(times float64) error {
	if g.times *= max(times, 1); g.times > maxGrowth {
		return fmt.Errorf("tokenizer: normalizer can make a text more than %d times as long", maxGrowth)
	}
	return nil
}

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

// parseNormalizer reads a "normalizer" section. The Unicode forms are x/text's,
// which breaks runs of more than 30 combining marks (the Stream-Safe
// Text Format of Unicode annex 15); no ordinary text has such a run.
func parseNormalizer(data json.RawMessage) (normalizer, error) {
	return (&growing{parts: parts{section: "normalizer"}, times: 1}).parse(data, 0)
}

func (g *growing) parse(data json.RawMessage, depth int) (normalizer, error) {
	if absent(data) {
		return nil, nil
	}
	if err := g.deeper(depth); err != nil {
		return nil, err
	}
	var p normalizerPart
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("tokenizer: normalizer: %w", err)
	}
	switch p.Type {
	case "Sequence":
		return g.sequence(p.Normalizers, depth)
	case "NFC":
		return (&composer{}).normalize, g.grow(3)
	case "NFD":
		return unicodeForm(norm.NFD), g.grow(3)
	case "NFKC":
		return unicodeForm(norm.NFKC), g.grow(11)
	case "NFKD":
		return unicodeForm(norm.NFKD), g.grow(11)
	case "Lowercase":
		return lower, g.grow(1.5)
	case "StripAccents":
		return stripAccents(), nil
	case "Strip":
		return stripSpace(p.StripLeft, p.StripRight), nil
	case "Prepend":
		if g.prepend += len(p.Prepend); g.prepend > maxPrepend {
			return nil, fmt.Errorf("tokenizer: normalizer puts more than %d bytes before a text", maxPrepend)
		}
		return func(s string) string {
			if s == "" {
				return s
			}
			return p.Prepend + s
		}, nil
	case "Replace":
		return g.replace(p.Pattern, p.Content)
	}
	return nil, fmt.Errorf("tokenizer: normalizer %q is not supported", p.Type)
}

func (g *growing) sequence(parts []json.RawMessage, depth int) (normalizer, error) {
	var all []normalizer
	for _, part := range parts {
		n, err := g.parse(part, depth+1)
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

// unicodeForm is a normal form that leaves characters alone that the library's Unicode version does not know yet. The
// texts before and after such a character do not affect each other.
func unicodeForm(form norm.Form) normalizer {
	inert := charclass.Table(charclass.Inert)
	return func(s string) string {
		at := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf && unicode.Is(inert, r) })
		if at < 0 {
			return form.String(s)
		}
		var out strings.Builder
		for ; at >= 0; at = strings.IndexFunc(s, func(r rune) bool { return unicode.Is(inert, r) }) {
			_, n := utf8.DecodeRuneInString(s[at:])
			out.WriteString(form.String(s[:at]) + s[at:at+n])
			s = s[at+n:]
		}
		out.WriteString(form.String(s))
		return out.String()
	}
}

// lower maps each character to lower case separately. İ is the one character
// whose lower case is two.
func lower(s string) string {
	return strings.Map(charclass.Lower, strings.ReplaceAll(s, "İ", "i\u0307"))
}

// stripAccents drops combining marks; files put a decomposing form before it.
func stripAccents() normalizer {
	accents := charclass.Table(charclass.Accent)
	return func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf && unicode.Is(accents, r) {
				return -1
			}
			return r
		}, s)
	}
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
func (g *growing) replace(p patternPart, content string) (normalizer, error) {
	switch {
	case p.String != nil:
		times := float64(len(content)) / max(1, float64(len(*p.String)))
		if *p.String == "" {
			times++
		}
		return func(s string) string { return strings.ReplaceAll(s, *p.String, content) }, g.grow(times)
	case p.Regex == nil:
		return nil, fmt.Errorf("tokenizer: normalizer Replace has neither a String nor a Regex pattern")
	}
	re, err := compile(*p.Regex)
	if err != nil {
		return nil, err
	}
	times := float64(1 + len(content)) // the expression may match between any two bytes
	return func(s string) string { return re.Replace(s, func([]int) string { return content }) }, g.grow(times)
}
