package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Resolved is the configuration in YAML, every key with its value, and after each value that is not a default a
// comment saying where it came from. It can be loaded again and gives the same configuration.
func (c *Config) Resolved() string {
	var b strings.Builder
	p := printer{c: c, b: &b}
	p.mapping(encode(reflect.ValueOf(c).Elem()), "", 0)
	return b.String()
}

type printer struct {
	c *Config
	b *strings.Builder
}

func (p *printer) mapping(n *node, path string, depth int) {
	for _, f := range n.fields {
		fmt.Fprintf(p.b, "%s%s:", strings.Repeat("  ", depth), scalarText(f.key, true))
		p.value(f.value, join(path, f.key), depth)
	}
}

// value writes what stands after a key or a dash, and ends the line.
func (p *printer) value(n *node, path string, depth int) {
	switch {
	case n.kind == mapping && len(n.fields) > 0:
		p.b.WriteString("\n")
		p.mapping(n, path, depth+1)
	case n.kind == sequence && len(n.items) > 0:
		p.b.WriteString("\n")
		for i, item := range n.items {
			p.b.WriteString(strings.Repeat("  ", depth+1) + "-")
			p.value(item, index(path, i), depth+1)
		}
	default:
		p.b.WriteString(" " + flowText(n))
		if o := p.c.Origin(path); o.Kind != FromDefault {
			p.b.WriteString("  # " + strings.Map(printable, o.String()))
		}
		p.b.WriteString("\n")
	}
}

// printable keeps a comment on its line.
func printable(r rune) rune {
	if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
		return ' '
	}
	return r
}

func flowText(n *node) string {
	switch n.kind {
	case mapping:
		return "{}"
	case sequence:
		return "[]"
	}
	return scalarText(n.text, n.quoted)
}

// scalarText writes a scalar so that it reads back as it is: a string gets quotes when it could be taken for
// something else, and its ${ are escaped.
func scalarText(s string, isString bool) string {
	if !isString {
		return s
	}
	if plainWord(s) {
		return s
	}
	return doubleQuoted(strings.ReplaceAll(s, "${", `\${`))
}

// plainWord reports whether a string needs no quotes.
func plainWord(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '/'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '-' || r == '.')) {
			return false
		}
	}
	_, isText := (&node{text: s}).scalarValue().(string)
	_, isBool := parseBool(s)
	return s != "" && isText && !isBool
}

// doubleQuoted writes a YAML double-quoted string on one line.
func doubleQuoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(`\U` + fmt.Sprintf("%08s", strconv.FormatInt(int64(r), 16)))
		}
	}
	b.WriteByte('"')
	return b.String()
}
