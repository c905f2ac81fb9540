package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// The split patterns that have hand-written scanners.
const (
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen2  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// known returns the scanner of a pattern, nil when there is none.
func known(pattern string) scanner {
	switch pattern {
	case patternGPT2:
		return nextGPT2
	case patternLlama3:
		return nextLlama3
	case patternQwen2:
		return nextQwen2
	}
	return nil
}

// class sorts characters as the patterns do.
type class uint8

const (
	other  class = iota // [^\s\p{L}\p{N}]
	letter              // \p{L}
	number              // \p{N}
	space               // \s
)

// asciiClasses has the class of each ASCII character, '0' for other and so on.
const asciiClasses = "" +
	"00000000033333000000000000000000" +
	"30000000000000002222222222000000" +
	"01111111111111111111111111100000" +
	"01111111111111111111111111100000"

func asciiClass(b byte) class { return class(asciiClasses[b&0x7F] - '0') }

func classOf(r rune) class {
	switch {
	case r >= 0 && r < utf8.RuneSelf:
		return asciiClass(byte(r))
	case r >= 0x4E00 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3: // most of Chinese and Korean
		return letter
	case unicode.IsLetter(r):
		return letter
	case unicode.IsSpace(r):
		return space
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// first returns the first character of s, its length in bytes and its class.
// Past the end it returns length 0 and class space.
func first(s string) (rune, int, class) {
	if s == "" {
		return 0, 0, space
	}
	if c := s[0]; c < utf8.RuneSelf {
		return rune(c), 1, asciiClass(c)
	}
	r, n := utf8.DecodeRuneInString(s)
	return r, n, classOf(r)
}

// run returns the end of the run of class c that starts at i.
func run(s string, i int, c class) int {
	for i < len(s) {
		if b := s[i]; b < utf8.RuneSelf {
			if asciiClass(b) != c {
				break
			}
			i++
			continue
		}
		_, n, k := first(s[i:])
		if k != c {
			break
		}
		i += n
	}
	return i
}

func newline(r rune) bool { return r == '\r' || r == '\n' }

// nextGPT2 scans patternGPT2.
func nextGPT2(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	r, n, c := first(s)
	if r == ' ' {
		if _, _, after := first(s[1:]); after != space {
			return run(s, 1, after)
		}
	}
	if c != space {
		return run(s, n, c)
	}
	return spaces(s, run(s, n, space))
}

func nextLlama3(s string) int { return nextWord(s, 3) }
func nextQwen2(s string) int  { return nextWord(s, 1) }

// nextWord scans patternLlama3, or patternQwen2, which differs in the number
// of digits that make a word.
func nextWord(s string, digits int) int {
	r, n, c := first(s)
	if r == '\'' {
		if n := contractionFold(s); n > 0 {
			return n
		}
	}
	if c == letter {
		return run(s, n, letter)
	}
	if c == number {
		return numbers(s, n, digits)
	}
	_, _, after := first(s[n:])
	if after == letter && !newline(r) { // [^\r\n\p{L}\p{N}]?\p{L}+
		return run(s, n, letter)
	}
	if c == other || r == ' ' && after == other && n < len(s) { //  ?[^\s\p{L}\p{N}]+[\r\n]*
		i := run(s, n, other)
		for i < len(s) && newline(rune(s[i])) {
			i++
		}
		return i
	}
	return spacesByLine(s)
}

// numbers returns the end of a word of at most limit digits, the first of
// which ends at i.
func numbers(s string, i, limit int) int {
	for range limit - 1 {
		_, n, c := first(s[i:])
		if c != number {
			break
		}
		i += n
	}
	return i
}

// spaces scans \s+(?!\S)|\s+ where the white space of s ends at end: the last
// character of a run is left to the word after it.
func spaces(s string, end int) int {
	if end == len(s) {
		return end
	}
	_, n := utf8.DecodeLastRuneInString(s[:end])
	if n == end {
		return end
	}
	return end - n
}

// spacesByLine scans \s*[\r\n]+|\s+(?!\S)|\s+.
func spacesByLine(s string) int {
	end := run(s, 0, space)
	for i := end; i > 0; i-- {
		if newline(rune(s[i-1])) {
			return i
		}
	}
	return spaces(s, end)
}

// contraction returns the length of 's|'t|'re|'ve|'m|'ll|'d at the start of s,
// 0 if there is none.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(s) > 2 {
		switch s[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

// contractionFold is contraction in any case. The long s, U+017F, folds to s.
func contractionFold(s string) int {
	if len(s) > 2 && s[1:3] == "ſ" {
		return 3
	}
	var low [3]byte
	n := min(len(s), len(low))
	for i := range n {
		low[i] = s[i]
		if s[i] >= 'A' && s[i] <= 'Z' {
			low[i] |= 0x20
		}
	}
	return contraction(string(low[:n]))
}
