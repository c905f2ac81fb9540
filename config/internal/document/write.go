package document

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

func FlowText(n *Node) string {
	switch n.Kind {
	case Mapping:
		return "{}"
	case Sequence:
		return "[]"
	}
	return ScalarText(n.Text, n.Quoted)
}

// ScalarText writes a scalar so that it reads back as it is: a string gets quotes when it could be taken for
// something else, and its ${ are escaped.
func ScalarText(s string, isString bool) string {
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
	_, isText := (&Node{Text: s}).ScalarValue().(string)
	_, isBool := ParseBool(s)
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
