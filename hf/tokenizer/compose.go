package tokenizer

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// composer is the normal form NFC, with a quick look for text that is in it
// already, as nearly all text is.
type composer struct {
	once sync.Once
	form normalizer
	// inert has a bit for each character below U+20000 that NFC keeps as it is
	// after any other. A text of such characters only is in NFC
	// (Unicode annex 15, section 9).
	inert [1 << 17 / 64]uint64
}

// fill asks x/text about every character, some milliseconds of work, which a
// text of ASCII spares.
func (c *composer) fill() {
	c.form = unicodeForm(norm.NFC)
	var room [utf8.UTFMax]byte
	for r := rune(0); r < 1<<17; r++ {
		b := utf8.AppendRune(room[:0], r)
		if norm.NFC.Properties(b).BoundaryBefore() && norm.NFC.IsNormal(b) {
			c.inert[r/64] |= 1 << (r % 64)
		}
	}
}

// normalize is a normalizer. The text after a run of inert characters may change
// the last of them, so that one is normalised with the rest.
func (c *composer) normalize(s string) string {
	at, last := 0, 0 // s[:at] is inert, and its last character begins at last
	for at < len(s) {
		if s[at] < utf8.RuneSelf {
			last = at
			at++
			continue
		}
		c.once.Do(c.fill)
		r, n := utf8.DecodeRuneInString(s[at:])
		if r >= 1<<17 || r == utf8.RuneError || c.inert[r/64]>>(r%64)&1 == 0 {
			break
		}
		last = at
		at += n
	}
	if at == len(s) {
		return s
	}
	return s[:last] + c.form(s[last:])
}
