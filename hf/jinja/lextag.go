package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// operators, longest first.
var operators = [...]string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{",
	"}", ">", "<", "=", ".", ":", "|", ",", ";"}

// tag reads the tokens of one tag. Inside brackets its end is not looked for,
// so that {{ {'a': {}} }} reads well.
func (l *lexer) tag(width int, begin, end kind, mark string) error {
	l.emit(begin, "")
	l.advance(width)
	var brackets []byte
	for l.pos < len(l.src) {
		s := l.src[l.pos:]
		if n := closing(s, mark, end == kindEndBlock); n > 0 && len(brackets) == 0 {
			l.emit(end, "")
			l.advance(n)
			return nil
		}
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case pySpace(r):
			l.advance(n)
		case r == '\'' || r == '"':
			if err := l.quoted(byte(r)); err != nil {
				return err
			}
		case r >= '0' && r <= '9':
			if err := l.number(); err != nil {
				return err
			}
		case r == '_' || unicode.IsLetter(r):
			l.name()
		default:
			var err error
			if brackets, err = l.operator(brackets); err != nil {
				return err
			}
		}
	}
	return l.fail("a tag is not closed by %s", mark)
}

func (l *lexer) name() {
	s := l.src[l.pos:]
	n := strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r)
	})
	if n < 0 {
		n = len(s)
	}
	l.emit(kindName, s[:n])
	l.advance(n)
}

// operator reads an operator and keeps the stack of open brackets.
func (l *lexer) operator(brackets []byte) ([]byte, error) {
	s := l.src[l.pos:]
	for _, op := range operators {
		if !strings.HasPrefix(s, op) {
			continue
		}
		switch op {
		case "(":
			brackets = append(brackets, ')')
		case "[":
			brackets = append(brackets, ']')
		case "{":
			brackets = append(brackets, '}')
		case ")", "]", "}":
			if len(brackets) == 0 || brackets[len(brackets)-1] != op[0] {
				return nil, l.fail("unexpected '%s'", op)
			}
			brackets = brackets[:len(brackets)-1]
		}
		l.emit(kindOp, op)
		l.advance(len(op))
		return brackets, nil
	}
	r, _ := utf8.DecodeRuneInString(s)
	return nil, l.fail("unexpected character %q", r)
}

// number reads an integer (decimal, 0x, 0o, 0b, with _ between digits) or a
// float, which has digits after its point.
func (l *lexer) number() error {
	s := l.src[l.pos:]
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n := 2 + span(s[2:], func(c byte) bool { return c == '_' || isHex(c) })
		return l.integer(s[:n])
	}
	n := digits(s)
	isFloat := false
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		n += 1 + digits(s[n+1:])
		isFloat = true
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if d := digits(s[m:]); d > 0 {
			n, isFloat = m+d, true
		}
	}
	if !isFloat {
		return l.integer(s[:n])
	}
	l.emit(kindFloat, strings.ReplaceAll(s[:n], "_", ""))
	l.advance(n)
	return nil
}

func (l *lexer) integer(text string) error {
	plain := strings.ReplaceAll(text, "_", "")
	base := 0
	if len(plain) < 2 || isDigit(plain[1]) {
		base = 10
	}
	v, err := strconv.ParseInt(plain, base, 64)
	if err != nil {
		return l.fail("integer %s does not fit 64 bits", text)
	}
	l.emit(kindInt, strconv.FormatInt(v, 10))
	l.advance(len(text))
	return nil
}

func span(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func digits(s string) int {
	if s == "" || !isDigit(s[0]) {
		return 0
	}
	return span(s, func(c byte) bool { return c == '_' || isDigit(c) })
}

// quoted reads a string in quotes, which may hold newlines.
func (l *lexer) quoted(quote byte) error {
	s := l.src[l.pos:]
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			text, err := unquote(s[1:i])
			if err != nil {
				return l.fail("%v", err)
			}
			l.emit(kindString, text)
			l.advance(i + 1)
			return nil
		}
	}
	return l.fail("a string is not closed by %c", quote)
}
