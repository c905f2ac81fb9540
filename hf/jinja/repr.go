package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// str is Python's str(v), the output of {{ v }}.
func (r *run) str(v Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case undefined:
		return "", nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	b := r.buffer()
	err := r.repr(b, v, 0)
	return string(b.text), err
}

// repr writes Python's repr(v).
func (r *run) repr(b *buffer, v Value, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("a value nests more than %d deep", maxNesting)
	}
	if err := r.step(); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		return b.write("None")
	case bool:
		if v {
			return b.write("True")
		}
		return b.write("False")
	case int64:
		return b.write(strconv.FormatInt(v, 10))
	case float64:
		return b.write(formatFloat(v))
	case string:
		if err := r.spend("texts in quotes", len(v)/8, len(v)); err != nil {
			return err
		}
		return b.write(reprString(v))
	case undefined:
		return b.write("Undefined")
	case List:
		return r.reprItems(b, v, "[", "]", depth)
	case Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		return r.reprItems(b, v, "(", end, depth)
	case *Map:
		return r.reprMap(b, v, depth)
	}
	return b.write("<" + typeName(v) + ">")
}

func (r *run) reprItems(b *buffer, items []Value, begin, end string, depth int) error {
	b.put(begin)
	for i, item := range items {
		if i > 0 {
			b.put(", ")
		}
		if err := r.repr(b, item, depth+1); err != nil {
			return err
		}
	}
	return b.write(end)
}

func (r *run) reprMap(b *buffer, m *Map, depth int) error {
	sep := "{"
	for k, v := range m.All() {
		b.put(sep)
		if err := r.repr(b, k, depth+1); err != nil {
			return err
		}
		b.put(": ")
		if err := r.repr(b, v, depth+1); err != nil {
			return err
		}
		sep = ", "
	}
	if m.Len() == 0 {
		return b.write("{}")
	}
	return b.write("}")
}

// reprString quotes a string as Python does: single quotes unless only these
// are inside, and what cannot be printed escaped.
func reprString(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var out strings.Builder
	out.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case r == ' ' || r == utf8.RuneError || unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	out.WriteRune(quote)
	return out.String()
}
