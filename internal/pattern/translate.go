package pattern

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/charclass"
)

// translator rewrites an expression in the syntax of regexp/syntax, with a rune in place of each check.
type translator struct {
	src    string
	pos    int
	depth  int
	out    strings.Builder
	flags  []string // of the open groups: the active ones of i, m and s
	checks []check
}

func (t *translator) translate() (string, error) {
	for t.pos < len(t.src) {
		var err error
		switch c := t.src[t.pos]; c {
		case '\\':
			err = t.escape(false)
		case '[':
			err = t.class()
		case '(':
			err = t.open()
		case ')':
			if len(t.flags) > 1 {
				t.flags = t.flags[:len(t.flags)-1]
			}
			t.copy(1)
		case '$':
			t.pos++
			if strings.Contains(t.top(), "m") {
				t.out.WriteString("$")
			} else {
				t.check(check{kind: lastLine})
			}
		default:
			t.copy(1)
		}
		if err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

func (t *translator) top() string { return t.flags[len(t.flags)-1] }

func (t *translator) copy(n int) {
	t.out.WriteString(t.src[t.pos : t.pos+n])
	t.pos += n
}

// check adds a condition to the expression.
func (t *translator) check(c check) {
	fmt.Fprintf(&t.out, `(?:\x{%X}\x{%X})`, firstCheck+len(t.checks), filler)
	t.checks = append(t.checks, c)
}

// escape rewrites \x.
func (t *translator) escape(inClass bool) error {
	rest := t.src[t.pos+1:]
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		return fmt.Errorf("a backslash at the end")
	case strings.ContainsRune("sdwSDW", r):
		t.pos += 2
		names := map[rune]string{'s': charclass.Space, 'd': "Nd", 'w': charclass.Word}
		if inClass {
			names['w'] = charclass.WordSet
		}
		t.characters(names[unicode.ToLower(r)], unicode.IsUpper(r), inClass)
	case r == 'p' || r == 'P':
		name, not, n := property(rest)
		if charclass.Table(name) == nil {
			t.copy(2) // unknown to package syntax too, which says so
			break
		}
		t.pos += 1 + n
		t.characters(name, not, inClass)
	case r == 'u' && len(rest) >= 5:
		t.pos += 6
		t.out.WriteString(`\x{` + rest[1:5] + `}`)
	case r == 'b' && inClass:
		t.pos += 2
		t.out.WriteString(`\x08`)
	case r == 'b' || r == 'B':
		t.pos += 2
		t.check(check{kind: boundary, not: r == 'B'})
	case r == 'Z':
		t.pos += 2
		t.check(check{kind: lastLine})
	case r >= utf8.RuneSelf:
		t.pos++
		t.copy(n)
	case r == 'Q' || r == 'C' || r == 'E':
		return fmt.Errorf(`\%c is not supported`, r)
	default:
		t.copy(2)
	}
	return nil
}

// property reads the name in p{L}, pL, p{^L} or P{L}, and the length of all that.
func property(text string) (name string, not bool, n int) {
	not = text[0] == 'P'
	rest := text[1:]
	if !strings.HasPrefix(rest, "{") {
		_, n = utf8.DecodeRuneInString(rest)
		return rest[:n], not, 1 + n
	}
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return "", not, 0
	}
	if name, found := strings.CutPrefix(rest[1:end], "^"); found {
		return name, !not, end + 2
	}
	return rest[1:end], not, end + 2
}

// characters writes the characters of a class, or all others.
func (t *translator) characters(name string, not, inClass bool) {
	table := charclass.Table(name)
	if !inClass {
		t.out.WriteByte('[')
		defer t.out.WriteByte(']')
	}
	next := rune(0) // the first character that is not written about
	put := func(lo, hi rune) {
		switch {
		case !not:
			fmt.Fprintf(&t.out, `\x{%X}-\x{%X}`, lo, hi)
		case next < lo:
			fmt.Fprintf(&t.out, `\x{%X}-\x{%X}`, next, lo-1)
		}
		next = hi + 1
	}
	for _, r := range table.R16 {
		put(rune(r.Lo), rune(r.Hi))
	}
	for _, r := range table.R32 {
		put(rune(r.Lo), rune(r.Hi))
	}
	if not {
		put(unicode.MaxRune+1, unicode.MaxRune+1)
	}
}

// word is \w.
func word(r rune) bool { return unicode.Is(wordTable(), r) }

var wordTable = sync.OnceValue(func() *unicode.RangeTable { return charclass.Table(charclass.Word) })

// class rewrites [...].
func (t *translator) class() error {
	t.copy(1)
	if strings.HasPrefix(t.src[t.pos:], "^") {
		t.copy(1)
	}
	for first := true; t.pos < len(t.src); first = false {
		rest := t.src[t.pos:]
		switch {
		case rest[0] == ']' && !first:
			t.copy(1)
			return nil
		case rest[0] == '\\':
			if err := t.escape(true); err != nil {
				return err
			}
		case strings.HasPrefix(rest, "[:"), strings.HasPrefix(rest, "-["):
			return fmt.Errorf("%s in a class is not supported", rest[:2])
		case rest[0] == '[':
			t.out.WriteString(`\[`)
			t.pos++
		default:
			t.copy(1)
		}
	}
	return fmt.Errorf("a class is not closed by ]")
}

// open rewrites a group: a lookaround completely, of other groups only the start.
func (t *translator) open() error {
	rest := t.src[t.pos:]
	for _, look := range []struct {
		mark string
		c    check
	}{{"(?=", check{kind: ahead}}, {"(?!", check{kind: ahead, not: true}}, {"(?<=", check{kind: behind}},
		{"(?<!", check{kind: behind, not: true}}} {
		if strings.HasPrefix(rest, look.mark) {
			return t.lookaround(look.mark, look.c)
		}
	}
	if !strings.HasPrefix(rest, "(?") || strings.HasPrefix(rest, "(?P<") || strings.HasPrefix(rest, "(?<") {
		t.flags = append(t.flags, t.top())
		t.copy(1)
		if len(rest) > 1 && rest[1] == '?' {
			t.copy(1)
		}
		return nil
	}
	n := strings.IndexAny(rest, ":)")
	if n < 0 || strings.Trim(rest[2:n], "imsnx-") != "" {
		return fmt.Errorf("the group %.4s… is not supported", rest)
	}
	flags := withFlags(t.top(), rest[2:n])
	if rest[n] == ':' {
		t.flags = append(t.flags, flags)
	} else {
		t.flags[len(t.flags)-1] = flags
	}
	t.copy(n + 1)
	return nil
}

// withFlags returns the active flags after letters such as im-s.
func withFlags(flags, letters string) string {
	on := true
	for _, c := range letters {
		if c == '-' {
			on = false
			continue
		}
		flags = strings.ReplaceAll(flags, string(c), "")
		if on {
			flags += string(c)
		}
	}
	return flags
}

// lookaround compiles the expression in a lookaround separately.
func (t *translator) lookaround(mark string, c check) error {
	n := groupEnd(t.src[t.pos:])
	if n < 0 {
		return fmt.Errorf("%s is not closed by )", mark)
	}
	body := t.src[t.pos+len(mark) : t.pos+n]
	if t.top() != "" {
		body = "(?" + t.top() + ")" + body
	}
	p, tree, err := compile(body, t.depth+1)
	if err != nil {
		return err
	}
	if c.kind == behind {
		var fixed bool
		if c.width, fixed = width(tree); !fixed {
			return fmt.Errorf("%s…) matches texts of different length, which is not supported", mark)
		}
	}
	c.body = p
	t.pos += n + 1
	t.check(c)
	return nil
}

// groupEnd is the index of the bracket that closes the first one of s, -1 if there is none.
func groupEnd(s string) int {
	depth, inClass := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
			if i+1 < len(s) && s[i+1] == '^' {
				i++
			}
			if i+1 < len(s) && s[i+1] == ']' {
				i++
			}
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
