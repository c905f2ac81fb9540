package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// DecodeBytes returns the bytes the ids stand for, which need not be valid
// UTF-8. Ids that are not tokens are passed over, and with skipSpecial special
// tokens too.
func (t *Tokenizer) DecodeBytes(ids []int32, skipSpecial bool) []byte {
	var out []byte
	for _, id := range ids {
		if e := t.at(id); !(skipSpecial && e.special) {
			out = append(out, e.bytes...)
		}
	}
	return out
}

// Decode returns the text the ids stand for, with U+FFFD for bytes that are not
// UTF-8.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	if t.pieces != nil {
		var out strings.Builder
		d := t.NewDecoder(skipSpecial)
		for _, id := range ids {
			out.WriteString(d.Write(id))
		}
		out.WriteString(d.Flush())
		return out.String()
	}
	return toValid(t.DecodeBytes(ids, skipSpecial))
}

// toValid replaces each maximal part of an ill-formed sequence by one U+FFFD,
// as Rust and Python do (The Unicode Standard, section 3.9). Package strings
// would replace a whole run by one.
func toValid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = max(1, partial(b))
			out.WriteRune(utf8.RuneError)
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

// partial returns the length of the longest prefix of b that begins a
// character without completing it, 0 when b does not begin with such.
func partial(b []byte) int {
	if len(b) == 0 || b[0] < 0xC2 || b[0] > 0xF4 {
		return 0
	}
	want, low, high := 2, byte(0x80), byte(0xBF)
	switch {
	case b[0] >= 0xF0:
		want = 4
	case b[0] >= 0xE0:
		want = 3
	}
	switch b[0] { // overlong forms, surrogates, above U+10FFFF
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n < len(b) && n < want && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	if n == want {
		return 0
	}
	return n
}

// Decoder turns a stream of ids into text. It holds back the bytes of a
// character until the character is whole.
type Decoder struct {
	t           *Tokenizer
	skipSpecial bool
	held        []byte
	begun       bool // some text was returned, of a tokenizer of pieces
}

// NewDecoder returns a Decoder, which leaves out special tokens if skipSpecial
// is set.
func (t *Tokenizer) NewDecoder(skipSpecial bool) *Decoder {
	return &Decoder{t: t, skipSpecial: skipSpecial}
}

// Write takes the next id and returns the text that it completes, often "".
func (d *Decoder) Write(id int32) string {
	e := d.t.at(id)
	if d.skipSpecial && e.special {
		return ""
	}
	if d.t.pieces != nil {
		if !e.known {
			return ""
		}
		return d.writePiece(e)
	}
	d.held = append(d.held, e.bytes...)
	whole := len(d.held) - unfinished(d.held)
	text := toValid(d.held[:whole])
	d.held = append(d.held[:0], d.held[whole:]...)
	return text
}

// Flush returns the text that was held back and empties the decoder. The texts
// of all Writes and the Flush together equal Decode's.
func (d *Decoder) Flush() string {
	text := ""
	if d.t.pieces != nil {
		text = d.begin(runText(d.held))
		d.begun = false
	} else {
		text = toValid(d.held)
	}
	d.held = d.held[:0]
	return text
}

// unfinished returns the number of bytes at the end of b that begin a
// character without completing it.
func unfinished(b []byte) int {
	for n := 1; n <= min(3, len(b)); n++ {
		if partial(b[len(b)-n:]) == n {
			return n
		}
	}
	return 0
}
