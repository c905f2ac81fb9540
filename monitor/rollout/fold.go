package rollout

import (
	"bytes"
	"strings"
)

// needle finds an ASCII text in bytes, with capitals taken for small letters. It looks for the letter of the text that
// is the rarest in English, at the speed of bytes.IndexByte, and compares the rest only where that one is.
type needle struct {
	text  []byte // in small letters
	at    int    // of the rarest byte
	upper byte   // the rarest byte as a capital; itself if it has none
}

// common are the bytes of texts and of JSON, the most frequent first.
const common = " etaoinsrhldcumfpgwyb,.v0k1\\2-'\"34567:98()*=+/xjqz"

func needleOf(text []byte) needle {
	n := needle{text: text}
	rarest := -1
	for i, c := range text {
		rank := strings.IndexByte(common, c)
		if rank < 0 {
			rank = len(common)
		}
		if rank > rarest {
			rarest, n.at = rank, i
		}
	}
	n.upper = text[n.at]
	if 'a' <= n.upper && n.upper <= 'z' {
		n.upper -= 'a' - 'A'
	}
	return n
}

// in reports whether the text is in b.
func (n *needle) in(b []byte) bool {
	if len(b) < len(n.text) {
		return false
	}
	last := len(b) - len(n.text) + n.at + 1 // the rarest byte stands before it
	rare := n.text[n.at]
	return n.with(b, rare, last) || n.upper != rare && n.with(b, n.upper, last)
}

// with looks where the rarest byte is c.
func (n *needle) with(b []byte, c byte, last int) bool {
	for from := n.at; from < last; {
		i := bytes.IndexByte(b[from:last], c)
		if i < 0 {
			return false
		}
		if n.equal(b[from+i-n.at:]) {
			return true
		}
		from += i + 1
	}
	return false
}

// equal reports whether b begins with the text.
func (n *needle) equal(b []byte) bool {
	for i, c := range n.text {
		if d := b[i]; d != c && (d < 'A' || d > 'Z' || d+('a'-'A') != c) {
			return false
		}
	}
	return true
}
