package rollout

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// errNoObject means that a line is not one whole JSON object.
var errNoObject = errors.New("rollout: the line is not a JSON object")

// maxDepth limits the nesting of what is skipped.
const maxDepth = 1000

// Fields calls visit with each field of a JSON object: its key, and its value as it stands in the line, from at on. It
// is much faster than decoding the line, since it does not look into numbers and texts. Values are not checked beyond
// their nesting.
func Fields(line []byte, visit func(key, value []byte, at int)) error {
	s := walker{buf: line}
	s.spaces()
	if !s.eat('{') {
		return errNoObject
	}
	s.spaces()
	if s.eat('}') {
		return s.end()
	}
	for {
		s.spaces()
		key, ok := s.text()
		s.spaces()
		if !ok || !s.eat(':') {
			return errNoObject
		}
		s.spaces()
		from := s.at
		if !s.skip(0) {
			return errNoObject
		}
		visit(key[1:len(key)-1], line[from:s.at], from)
		s.spaces()
		switch {
		case s.eat(','):
		case s.eat('}'):
			return s.end()
		default:
			return errNoObject
		}
	}
}

type walker struct {
	buf []byte
	at  int
}

func (s *walker) spaces() {
	for s.at < len(s.buf) {
		switch s.buf[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *walker) eat(c byte) bool {
	if s.at < len(s.buf) && s.buf[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *walker) end() error {
	s.spaces()
	if s.at != len(s.buf) {
		return errNoObject
	}
	return nil
}

// text reads a string with its quotes.
func (s *walker) text() ([]byte, bool) {
	from := s.at
	if !s.eat('"') {
		return nil, false
	}
	for {
		i := bytes.IndexByte(s.buf[s.at:], '"')
		if i < 0 {
			return nil, false
		}
		slashes := 0
		for j := s.at + i - 1; j > from && s.buf[j] == '\\'; j-- {
			slashes++
		}
		s.at += i + 1
		if slashes%2 == 0 {
			return s.buf[from:s.at], true
		}
	}
}

// skip passes over one value.
func (s *walker) skip(depth int) bool {
	if s.at >= len(s.buf) || depth > maxDepth {
		return false
	}
	switch s.buf[s.at] {
	case '"':
		_, ok := s.text()
		return ok
	case '[':
		if s.flat() {
			return true
		}
		return s.nested(']', depth)
	case '{':
		return s.nested('}', depth)
	}
	from := s.at
	for s.at < len(s.buf) {
		switch s.buf[s.at] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return s.at > from
		}
		s.at++
	}
	return s.at > from
}

// flat passes over an array of numbers.
func (s *walker) flat() bool {
	i := bytes.IndexByte(s.buf[s.at:], ']')
	if i < 0 {
		return false
	}
	inner := s.buf[s.at+1 : s.at+i]
	if bytes.IndexByte(inner, '"') >= 0 || bytes.IndexByte(inner, '[') >= 0 || bytes.IndexByte(inner, '{') >= 0 {
		return false
	}
	s.at += i + 1
	return true
}

// nested passes over an object or an array of anything.
func (s *walker) nested(end byte, depth int) bool {
	s.at++
	s.spaces()
	if s.eat(end) {
		return true
	}
	for {
		s.spaces()
		if end == '}' {
			if _, ok := s.text(); !ok {
				return false
			}
			s.spaces()
			if !s.eat(':') {
				return false
			}
			s.spaces()
		}
		if !s.skip(depth + 1) {
			return false
		}
		s.spaces()
		switch {
		case s.eat(','):
		case s.eat(end):
			return true
		default:
			return false
		}
	}
}

// Count is the number of elements of an array of numbers.
func Count(value []byte) int {
	inner := bytes.TrimSpace(bytes.Trim(value, "[]"))
	if len(inner) == 0 || value[0] != '[' {
		return 0
	}
	return bytes.Count(inner, []byte{','}) + 1
}

// Number is a JSON number; ok is false for null and everything else.
func Number(value []byte) (v float64, ok bool) {
	if len(value) == 0 || value[0] == '"' || value[0] == 'n' {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(value), 64)
	return v, err == nil
}

// unquote is a JSON string's text. It accepts what encoding/json does not: control characters as they are, and escapes
// that mean nothing, which stay. What is not UTF-8 stays too.
func unquote(value []byte) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return ""
	}
	raw := value[1 : len(value)-1]
	i := bytes.IndexByte(raw, '\\')
	if i < 0 {
		return string(raw)
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i >= 0 && i+1 < len(raw) {
		b.Write(raw[:i])
		raw = raw[i:]
		n := unescape(&b, raw)
		raw = raw[n:]
		i = bytes.IndexByte(raw, '\\')
	}
	b.Write(raw)
	return b.String()
}

const escapes, escaped = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// unescape writes what the escape at the front of raw means, and returns its length.
func unescape(b *strings.Builder, raw []byte) int {
	if at := strings.IndexByte(escapes, raw[1]); at >= 0 {
		b.WriteByte(escaped[at])
		return 2
	}
	r, ok := hex(raw)
	if !ok {
		b.Write(raw[:2])
		return 2
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex(raw[6:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				b.WriteRune(both)
				return 12
			}
		}
		r = utf8.RuneError
	}
	b.WriteRune(r)
	return 6
}

func hex(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(raw[2:6]), 16, 32)
	return rune(v), err == nil
}

// numbers reads an object's fields that are numbers.
func numbers(value []byte) map[string]float64 {
	m := map[string]float64{}
	err := Fields(value, func(key, raw []byte, _ int) {
		if v, ok := Number(raw); ok {
			m[string(key)] = v
		} else if b := string(raw); b == "true" {
			m[string(key)] = 1
		} else if b == "false" {
			m[string(key)] = 0
		}
	})
	if err != nil {
		return nil
	}
	return m
}
