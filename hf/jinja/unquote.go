package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// simpleEscapes are the escapes of one letter, each followed by what it means.
const simpleEscapes = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\""

// unquote replaces the escapes of a Python string. An unknown one stays as it is.
func unquote(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			i++
			continue
		}
		n, err := escape(&out, s[i+1:])
		if err != nil {
			return "", err
		}
		i += 1 + n
	}
	return out.String(), nil
}

// escape writes the meaning of the escape whose text after the backslash
// starts s, and returns its length.
func escape(out *strings.Builder, s string) (int, error) {
	if i := strings.IndexByte(simpleEscapes, s[0]); i >= 0 && i%2 == 0 {
		out.WriteByte(simpleEscapes[i+1])
		return 1, nil
	}
	switch c := s[0]; {
	case c == '\n':
		return 1, nil
	case c >= '0' && c <= '7':
		n := min(3, span(s, func(c byte) bool { return c >= '0' && c <= '7' }))
		v, err := strconv.ParseUint(s[:n], 8, 16)
		out.WriteRune(rune(v))
		return n, err
	case c == 'x':
		return codePoint(out, s, 2)
	case c == 'u':
		return codePoint(out, s, 4)
	case c == 'U':
		return codePoint(out, s, 8)
	}
	out.WriteByte('\\')
	return 0, nil
}

// codePoint writes the character of \x, \u or \U with n hexadecimal digits.
func codePoint(out *strings.Builder, s string, n int) (int, error) {
	if len(s) <= n {
		return 0, fmt.Errorf("escape \\%s is too short", s)
	}
	v, err := strconv.ParseUint(s[1:1+n], 16, 32)
	if err != nil || v > utf8.MaxRune {
		return 0, fmt.Errorf("escape \\%s is not a character", s[:1+n])
	}
	out.WriteRune(rune(v))
	return 1 + n, nil
}
