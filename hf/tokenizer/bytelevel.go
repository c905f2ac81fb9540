package tokenizer

import "unicode/utf8"

// Byte-level files spell each byte as one printable character: the printable
// ones of Latin-1 as themselves, the other 68 as U+0100 onward in byte order
// (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners").
// A space is therefore Ġ, U+0120.

// printable reports whether byte b is spelled as itself.
func printable(b byte) bool {
	return b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE
}

// byteAlphabet returns the character of each byte.
func byteAlphabet() (chars [256]rune) {
	next := rune(256)
	for b := range 256 {
		if printable(byte(b)) {
			chars[b] = rune(b)
		} else {
			chars[b] = next
			next++
		}
	}
	return chars
}

// byteOf is the inverse of byteAlphabet.
func byteOf(r rune) (b byte, ok bool) {
	switch {
	case r < 256:
		return byte(r), r >= 0 && printable(byte(r))
	case r < 256+33: // 0..32
		return byte(r - 256), true
	case r < 256+67: // 127..160
		return byte(r - 256 - 33 + 127), true
	case r == 256+67:
		return 0xAD, true
	}
	return 0, false
}

// bytesOf returns the bytes of a token's spelling: its characters as bytes, or
// the spelling itself when it has a character outside the byte alphabet, as
// added tokens may.
func bytesOf(name string) string {
	if plain(name) {
		return name
	}
	buf := make([]byte, 0, len(name))
	for _, r := range name {
		b, ok := byteOf(r)
		if !ok {
			return name
		}
		buf = append(buf, b)
	}
	return string(buf)
}

// plain reports whether name has only characters that stand for themselves.
func plain(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf || !printable(name[i]) {
			return false
		}
	}
	return true
}

// spell writes bytes in the byte alphabet.
func spell(s string) string {
	chars := byteAlphabet()
	buf := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		buf = utf8.AppendRune(buf, chars[s[i]])
	}
	return string(buf)
}
