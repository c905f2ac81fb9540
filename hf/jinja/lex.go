package jinja

import (
	"fmt"
	"strings"
	"unicode"
)

// kind is the kind of a token.
type kind uint8

const (
	kindText     kind = iota // text between tags
	kindOutput               // {{
	kindEndOut               // }}
	kindBlock                // {%
	kindEndBlock             // %}
	kindName
	kindString
	kindInt
	kindFloat
	kindOp
	kindEOF
)

type token struct {
	kind kind
	text string // strings are unquoted
	line int
}

// lexer cuts a template into tokens and does the white space control, as
// Jinja2's lexer does with trim_blocks and lstrip_blocks.
type lexer struct {
	src       string
	pos       int
	line      int
	lineStart bool // the last thing before pos was a newline, or nothing
	tokens    []token
}

// pySpace is str.isspace of Python.
func pySpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// lex normalises newlines, drops the last one, and cuts src into tokens.
func lex(src string) ([]token, error) {
	src = strings.ReplaceAll(src, "\r\n", "\n")
	src = strings.ReplaceAll(src, "\r", "\n")
	src = strings.TrimSuffix(src, "\n")
	l := &lexer{src: src, line: 1, lineStart: true}
	for l.pos < len(l.src) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.emit(kindEOF, "")
	return l.tokens, nil
}

func (l *lexer) fail(format string, args ...any) error {
	return &Error{Line: l.line, Message: fmt.Sprintf(format, args...)}
}

func (l *lexer) emit(k kind, text string) {
	l.tokens = append(l.tokens, token{k, text, l.line})
}

// advance moves past n bytes, counting lines.
func (l *lexer) advance(n int) {
	if n == 0 {
		return
	}
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
	l.lineStart = l.src[l.pos-1] == '\n'
}

// open returns the place of the next tag, -1 if there is none.
func open(s string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '{')
		if i < 0 || at+i+1 >= len(s) {
			return -1
		}
		at += i
		switch s[at+1] {
		case '{', '%', '#':
			return at
		}
		at++
	}
}

// next reads the text up to the next tag, and that tag.
func (l *lexer) next() error {
	rest := l.src[l.pos:]
	i := open(rest)
	if i < 0 {
		l.emit(kindText, rest)
		l.advance(len(rest))
		return nil
	}
	tag, sign := rest[i+1], byte(0)
	if i+2 < len(rest) && (rest[i+2] == '-' || rest[i+2] == '+') {
		sign = rest[i+2]
	}
	l.text(rest[:i], sign, tag != '{')
	l.advance(i)
	l.lineStart = false
	width := 2
	if sign != 0 {
		width = 3
	}
	switch tag {
	case '#':
		return l.comment(width)
	case '{':
		return l.tag(width, kindOutput, kindEndOut, "}}")
	}
	if n, ok := rawTag(rest[i+width:], "raw"); ok {
		return l.raw(width + n)
	}
	return l.tag(width, kindBlock, kindEndBlock, "%}")
}

// text emits the text before a tag. A minus takes all white space at its end;
// otherwise lstrip takes the indentation of a tag that is the first in its line.
func (l *lexer) text(s string, sign byte, lstrip bool) {
	switch {
	case sign == '-':
		s = strings.TrimRightFunc(s, pySpace)
	case lstrip && sign != '+':
		start := strings.LastIndexByte(s, '\n') + 1
		if (start > 0 || l.lineStart) && strings.TrimFunc(s[start:], pySpace) == "" {
			s = s[:start]
		}
	}
	if s != "" {
		l.emit(kindText, s)
	}
}

// closing returns the length of the end of a tag at the start of s, 0 if it is
// none: the sign, the end itself and the white space it takes.
func closing(s, end string, trim bool) int {
	if strings.HasPrefix(s, "-"+end) {
		rest := s[1+len(end):]
		return 1 + len(end) + len(rest) - len(strings.TrimLeftFunc(rest, pySpace))
	}
	if trim && strings.HasPrefix(s, "+"+end) {
		return 1 + len(end)
	}
	if !strings.HasPrefix(s, end) {
		return 0
	}
	if trim && strings.HasPrefix(s[len(end):], "\n") {
		return len(end) + 1
	}
	return len(end)
}

func (l *lexer) comment(width int) error {
	s := l.src[l.pos+width:]
	i := strings.Index(s, "#}")
	if i < 0 {
		return l.fail("a comment is not closed by #}")
	}
	if i > 0 && (s[i-1] == '-' || s[i-1] == '+') {
		i--
	}
	l.advance(width + i + closing(s[i:], "#}", true))
	return nil
}

// rawTag tells whether a block tag, after its opening, is {% raw %} or
// {% endraw %} (word), and its length.
func rawTag(s, word string) (int, bool) {
	rest := strings.TrimLeftFunc(s, pySpace)
	if !strings.HasPrefix(rest, word) {
		return 0, false
	}
	rest = strings.TrimLeftFunc(rest[len(word):], pySpace)
	n := closing(rest, "%}", word == "endraw")
	return len(s) - len(rest) + n, n > 0
}

// raw reads text up to {% endraw %}.
func (l *lexer) raw(width int) error {
	l.advance(width)
	body := l.src[l.pos:]
	for at := 0; ; at += 2 {
		i := strings.Index(body[at:], "{%")
		if i < 0 {
			return l.fail("{%% raw %%} is not closed by {%% endraw %%}")
		}
		at += i
		inner, sign := body[at+2:], byte(0)
		if inner != "" && (inner[0] == '-' || inner[0] == '+') {
			inner, sign = inner[1:], inner[0]
		}
		if n, ok := rawTag(inner, "endraw"); ok {
			l.text(body[:at], sign, true)
			l.advance(len(body) - len(inner) + n)
			return nil
		}
	}
}
