package tokenizer

import "unicode/utf8"

// The split patterns that have hand-written scanners.
const (
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen2 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
		`\s*[\r\n]+|\s+(?!\S)|\s+`
)

// known returns the scanner of a pattern, nil when there is none.
func known(pattern string) scanner {
	switch pattern {
	case patternGPT2:
		return newClasses().nextGPT2
	case patternLlama3:
		return newClasses().nextLlama3
	case patternQwen2:
		return newClasses().nextQwen2
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

func newline(r rune) bool { return r == '\r' || r == '\n' }

// nextGPT2 scans patternGPT2.
func (c *classes) nextGPT2(s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	r, n, k := c.first(s)
	if r == ' ' {
		if _, _, after := c.first(s[1:]); after != space {
			return c.run(s, 1, after)
		}
	}
	if k != space {
		return c.run(s, n, k)
	}
	return spaces(s, c.run(s, n, space))
}

func (c *classes) nextLlama3(s string) int { return c.nextWord(s, 3) }
func (c *classes) nextQwen2(s string) int  { return c.nextWord(s, 1) }

// nextWord scans patternLlama3, or patternQwen2, which differs in the number
// of digits that make a word.
func (c *classes) nextWord(s string, digits int) int {
	r, n, k := c.first(s)
	if r == '\'' {
		if n := contractionFold(s); n > 0 {
			return n
		}
	}
	if k == letter {
		return c.run(s, n, letter)
	}
	if k == number {
		return c.numbers(s, n, digits)
	}
	_, _, after := c.first(s[n:])
	if after == letter && !newline(r) { // [^\r\n\p{L}\p{N}]?\p{L}+
		return c.run(s, n, letter)
	}
	if k == other || r == ' ' && after == other && n < len(s) { //  ?[^\s\p{L}\p{N}]+[\r\n]*
		i := c.run(s, n, other)
		for i < len(s) && newline(rune(s[i])) {
			i++
		}
		return i
	}
	return c.spacesByLine(s)
}

// numbers returns the end of a word of at most limit digits, the first of
// which ends at i.
func (c *classes) numbers(s string, i, limit int) int {
	for range limit - 1 {
		_, n, k := c.first(s[i:])
		if k != number {
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
func (c *classes) spacesByLine(s string) int {
	end := c.run(s, 0, space)
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
