package dapo

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// texToken is one token of LaTeX as pylatexenc 2 cuts it: the space before it belongs to it, and so does, after a
// macro named by letters, the space that TeX swallows.
type texToken struct {
	kind   texKind
	text   string // the character, the macro's or environment's name, the delimiter
	end    int
	before string
	behind string
}

type texKind uint8

const (
	texEnd texKind = iota // of the text
	texChar
	texMacro
	texOpen
	texClose
	texMath
	texSpecial
	texBegin
	texEndEnvironment
)

var environmentName = regexp.MustCompile(`^\s*\{([\pL\pN_* .-]+)\}`)

// texSpecials are the characters that have a text, the longest first.
func texSpecials() [][2]string {
	return [][2]string{{"---", "—"}, {"--", "–"}, {"``", "“"}, {"''", "”"}, {"!`", "¡"}, {"?`", "¿"}, {"~", "\u00a0"},
		{"&", "   "}}
}

// token reads the token at pos. Square brackets are braces where brackets is set, \begin and \end are macros where
// environments is not.
func (p *texParser) token(pos int, brackets, environments bool) texToken {
	p.work++
	start := pos
	for pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[pos:])
		if !unicode.IsSpace(r) {
			break
		}
		pos += n
		if space := p.text[start:pos]; strings.HasSuffix(space, "\n\n") {
			return texToken{kind: texChar, text: "\n\n", end: pos, before: space[:len(space)-2]}
		}
	}
	t := texToken{kind: texEnd, end: len(p.text), before: p.text[start:pos]}
	if pos == len(p.text) {
		return t
	}
	rest := p.text[pos:]
	if rest[0] == '\\' {
		return p.command(t, pos, environments)
	}
	switch c := rest[:1]; {
	case c == "{" || brackets && c == "[":
		t.kind, t.text = texOpen, c
	case c == "}" || brackets && c == "]":
		t.kind, t.text = texClose, c
	case strings.HasPrefix(rest, "$$") && p.math != "$":
		t.kind, t.text = texMath, "$$"
	case c == "$":
		t.kind, t.text = texMath, "$"
	default:
		t.kind = texChar
		begins := func(s [2]string) bool { return strings.HasPrefix(rest, s[0]) }
		if i := slices.IndexFunc(p.specials, begins); i >= 0 {
			t.kind, t.text = texSpecial, p.specials[i][0]
		} else {
			_, n := utf8.DecodeRuneInString(rest)
			t.text = rest[:n]
		}
	}
	t.end = pos + len(t.text)
	return t
}

// command reads what begins with a backslash at pos.
func (p *texParser) command(t texToken, pos int, environments bool) texToken {
	at := pos + 1
	if at == len(p.text) { // a backslash and nothing: the end, and the space before it is lost
		t.before = ""
		return t
	}
	r, n := utf8.DecodeRuneInString(p.text[at:])
	at += n
	letters := unicode.IsLetter(r)
	for letters && at < len(p.text) {
		if r, n = utf8.DecodeRuneInString(p.text[at:]); !unicode.IsLetter(r) {
			break
		}
		at += n
	}
	t.text, t.end, t.kind = p.text[pos+1:at], at, texMacro
	switch {
	case t.text == "[" || t.text == "]" || t.text == "(" || t.text == ")":
		t.kind, t.text = texMath, `\`+t.text
	case environments && (t.text == "begin" || t.text == "end"):
		return p.environmentToken(t)
	case letters:
		t.end = p.swallowSpace(at)
		t.behind = p.text[at:t.end]
	}
	return t
}

func (p *texParser) environmentToken(t texToken) texToken {
	window := p.text[t.end:min(len(p.text), t.end+maxName)]
	m := environmentName.FindStringSubmatch(window)
	if m == nil {
		t.kind, t.text = texChar, `\`+t.text
		return t
	}
	t.kind = texBegin
	if t.text == "end" {
		t.kind = texEndEnvironment
	}
	t.text, t.end = m[1], t.end+len(m[0])
	return t
}

// swallowSpace is where the space at pos ends; an empty line is not swallowed.
func (p *texParser) swallowSpace(pos int) int {
	start := pos
	for pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[pos:])
		if !unicode.IsSpace(r) {
			break
		}
		if pos += n; strings.HasSuffix(p.text[start:pos], "\n\n") {
			return pos - 2
		}
	}
	return pos
}
