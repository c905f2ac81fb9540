// Package charclass has the classes of characters that Hugging Face's tokenizers go by. That library asks Oniguruma,
// the Rust standard library and three crates, which have the Unicode versions 16, 17 and older ones; package unicode
// has 15.
//
// Only the differences to package unicode are stored. internal/charclass/gen finds them by asking the library about
// every character, and writes table.go: `make gen PYTHON=…` does so for another version of the library or of Go.
package charclass

import (
	"slices"
	"unicode"
)

// The classes that are no category or script of Unicode.
const (
	Space        = "space"        // \s
	Word         = "word"         // \w in Oniguruma: the expressions of Split
	WordSet      = "wordset"      // [\w] in Oniguruma, which has no ² and ½
	Alphanumeric = "alphanumeric" // \w in Rust: the pre-tokenizer Whitespace, tokens that are a single word
	Numeric      = "numeric"      // the pre-tokenizer Digits
	Punctuation  = "punctuation"  // the pre-tokenizer Punctuation
	Accent       = "accent"       // what the normalizer StripAccents drops
	Inert        = "inert"        // what no normal form changes, although x/text's would
)

// span is the characters from lo to hi.
type span struct{ lo, hi rune }

// delta is how a class differs from what Base has: the characters to add and to remove, and how many there are then.
type delta struct {
	add, remove []span
	count       int
}

// Table returns the characters of a class, a general category such as "Lu" or a script such as "Han", as ranges of
// stride 1 in order; nil if there is no such name.
func Table(name string) *unicode.RangeTable {
	base := Base(name)
	if base == nil {
		return nil
	}
	d := deltas[name]
	spans := slices.Clone(d.add)
	for _, s := range spansOf(base) {
		spans = append(spans, without(s, d.remove)...)
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	return tableOf(spans)
}

// Base returns what package unicode has for a class.
func Base(name string) *unicode.RangeTable {
	switch name {
	case Space:
		return unicode.White_Space
	case Word, WordSet, Alphanumeric:
		return merged(unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic)
	case Numeric:
		return unicode.N
	case Punctuation:
		return unicode.P
	case Accent:
		return unicode.M
	case Inert:
		return &unicode.RangeTable{}
	}
	if t := unicode.Categories[name]; t != nil {
		return t
	}
	return unicode.Scripts[name]
}

func merged(tables ...*unicode.RangeTable) *unicode.RangeTable {
	var spans []span
	for _, t := range tables {
		spans = append(spans, spansOf(t)...)
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.lo - b.lo) })
	return tableOf(spans)
}

// spansOf lists the characters of a table, in order.
func spansOf(t *unicode.RangeTable) (all []span) {
	if t == nil {
		return nil
	}
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			all = append(all, span{r, r})
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return all
}

// without returns the rest of s.
func without(s span, removed []span) (left []span) {
	for _, r := range removed {
		if r.hi < s.lo || r.lo > s.hi {
			continue
		}
		if r.lo > s.lo {
			left = append(left, span{s.lo, r.lo - 1})
		}
		if s.lo = r.hi + 1; s.lo > s.hi {
			return left
		}
	}
	return append(left, s)
}

// tableOf joins spans in order, which may touch or overlap.
func tableOf(spans []span) *unicode.RangeTable {
	var joined []span
	for _, s := range spans {
		if n := len(joined); n > 0 && s.lo <= joined[n-1].hi+1 {
			joined[n-1].hi = max(joined[n-1].hi, s.hi)
			continue
		}
		joined = append(joined, s)
	}
	out := &unicode.RangeTable{}
	for _, s := range joined {
		const last = 1<<16 - 1
		if s.lo <= last {
			out.R16 = append(out.R16, unicode.Range16{Lo: uint16(s.lo), Hi: uint16(min(s.hi, last)), Stride: 1})
			if s.hi <= unicode.MaxLatin1 {
				out.LatinOffset++
			}
		}
		if s.hi > last {
			out.R32 = append(out.R32, unicode.Range32{Lo: uint32(max(s.lo, last+1)), Hi: uint32(s.hi), Stride: 1})
		}
	}
	return out
}

// Lower maps a character to lower case as Rust does; İ, whose lower case is two characters, to itself.
func Lower(r rune) rune {
	if r < 0x80 {
		return unicode.ToLower(r)
	}
	if i, ok := slices.BinarySearchFunc(lower, r, func(m mapping, r rune) int { return int(m.from - r) }); ok {
		return lower[i].to
	}
	return unicode.ToLower(r)
}

// mapping is a character and its lower case.
type mapping struct{ from, to rune }
