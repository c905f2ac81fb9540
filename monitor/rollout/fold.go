package rollout

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// needle finds a text in the bytes of a line, without reading its JSON and without a copy. If capitals do not
// matter, it looks for the letter of the text that is the rarest in English, at the speed of bytes.IndexByte, and
// compares the rest only where that one is.
type needle struct {
	text   []byte // in small letters if fold
	fold   bool
	at     int      // of the rarest letter
	anchor [][]byte // the rarest letter as it may be written
	after  int      // where it ends
}

// common are the bytes of texts and of JSON, the most frequent first.
const common = " etaoinsrhldcumfpgwyb,.v0k1\\2-'\"34567:98()*=+/xjqz"

// needleOf makes a needle of a text that is not empty; with fold it must be in small letters.
func needleOf(text string, fold bool) needle {
	n := needle{text: []byte(text), fold: fold}
	rarest := -1
	for i, r := range text {
		if rank := rankOf(r); rank > rarest {
			rarest, n.at = rank, i
			n.anchor = formsOf(r)
			n.after = i + utf8.RuneLen(r)
		}
	}
	return n
}

// rankOf is high for letters that are rare.
func rankOf(r rune) int {
	if r < utf8.RuneSelf {
		if rank := strings.IndexByte(common, byte(r)); rank >= 0 {
			return rank
		}
	}
	return len(common)
}

// formsOf are the letters that lower makes r, as UTF-8.
func formsOf(r rune) [][]byte {
	forms := [][]byte{[]byte(string(r))}
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		if lower(c) == r {
			forms = append(forms, []byte(string(c)))
		}
	}
	return forms
}

// lower is the small letter. Small ASCII letters belong to ASCII capitals alone, and not to the sign of Kelvin.
func lower(r rune) rune {
	if l := unicode.ToLower(r); r < utf8.RuneSelf || l >= utf8.RuneSelf {
		return l
	}
	return r
}

// in reports whether the text is in b.
func (n *needle) in(b []byte) bool {
	if !n.fold {
		return bytes.Contains(b, n.text)
	}
	return slices.ContainsFunc(n.anchor, func(form []byte) bool { return n.with(b, form) })
}

// with looks where the rarest letter is written as form.
func (n *needle) with(b, form []byte) bool {
	head, tail := n.text[:n.at], n.text[n.after:]
	for from := 0; ; {
		i := bytes.Index(b[from:], form)
		if i < 0 {
			return false
		}
		from += i + len(form)
		if begins(b[from:], tail) && ends(b[:from-len(form)], head) {
			return true
		}
	}
}

// begins reports whether b begins with a text in small letters, when capitals do not matter.
func begins(b, text []byte) bool {
	for len(text) > 0 {
		if len(b) == 0 {
			return false
		}
		if b[0] < utf8.RuneSelf {
			if small(b[0]) != text[0] {
				return false
			}
			b, text = b[1:], text[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		want, size := utf8.DecodeRune(text)
		if lower(r) != want {
			return false
		}
		b, text = b[n:], text[size:]
	}
	return true
}

// ends reports the same of the end of b.
func ends(b, text []byte) bool {
	for len(text) > 0 {
		if len(b) == 0 {
			return false
		}
		if c := b[len(b)-1]; c < utf8.RuneSelf {
			if small(c) != text[len(text)-1] {
				return false
			}
			b, text = b[:len(b)-1], text[:len(text)-1]
			continue
		}
		r, n := utf8.DecodeLastRune(b)
		want, size := utf8.DecodeLastRune(text)
		if lower(r) != want {
			return false
		}
		b, text = b[:len(b)-n], text[:len(text)-size]
	}
	return true
}

func small(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
