package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// A tokenizer.json of today has 10 to 20 MB, nearly all of it vocab and merges.
// These two are scanned here, straight into their tables; the rest is cut out
// and left to encoding/json.

// cursor reads JSON at a place in data. The first error sticks and ends all loops.
type cursor struct {
	data []byte
	at   int
	err  error
}

func (c *cursor) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%s at byte %d", what, c.at)
		c.at = len(c.data)
	}
}

// peek passes over white space and returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	for c.at < len(c.data) {
		switch b := c.data[c.at]; b {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// expect takes the byte b.
func (c *cursor) expect(b byte) {
	if c.peek() != b {
		c.fail(fmt.Sprintf("no %q", b))
		return
	}
	c.at++
}

// more reports whether a list or object, begun with open, has another element,
// and takes the opening bracket or comma before it.
func (c *cursor) more(first bool, open, shut byte) bool {
	if first {
		c.expect(open)
	}
	switch b := c.peek(); {
	case c.err != nil:
		return false
	case b == shut:
		c.at++
		return false
	case !first:
		c.expect(',')
	}
	return c.err == nil
}

// text takes a string. The result is a part of data unless it holds escapes or
// is not UTF-8, which encoding/json repairs.
func (c *cursor) text() []byte {
	c.expect('"')
	start, escaped, high := c.at, false, byte(0)
	for c.at < len(c.data) {
		switch b := c.data[c.at]; {
		case b == '"':
			c.at++
			if escaped || high >= utf8.RuneSelf && !utf8.Valid(c.data[start:c.at-1]) {
				return c.unescape(c.data[start-1 : c.at])
			}
			return c.data[start : c.at-1]
		case b == '\\':
			escaped = true
			c.at++
		default:
			high |= b
		}
		c.at++
	}
	c.fail("unfinished string")
	return nil
}

func (c *cursor) unescape(quoted []byte) []byte {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		c.fail("bad string")
	}
	return []byte(s)
}

// number takes an integer. One beyond nine digits becomes nine nines, which is
// no token id either.
func (c *cursor) number() int32 {
	sign := int32(1)
	if c.peek() == '-' {
		sign = -1
		c.at++
	}
	n, start := int32(0), c.at
	for ; c.at < len(c.data) && c.data[c.at] >= '0' && c.data[c.at] <= '9'; c.at++ {
		if c.at-start >= 9 {
			n = 999_999_999
			continue
		}
		n = 10*n + int32(c.data[c.at]-'0')
	}
	if c.at == start {
		c.fail("no token id")
	}
	return sign * n
}

// value passes over any value and returns its text. That brackets match in kind
// is for encoding/json to find out.
func (c *cursor) value() []byte {
	c.peek()
	start, depth := c.at, 0
	for c.err == nil {
		switch b := c.peek(); b {
		case '"':
			c.pass()
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			c.at++
		case 0:
			c.fail("unfinished value")
		default:
			c.word()
		}
		if depth <= 0 {
			break
		}
	}
	if c.err != nil {
		return nil
	}
	return c.data[start:c.at]
}

// pass passes over a string.
func (c *cursor) pass() {
	data := c.data
	for i := c.at + 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			c.at = i + 1
			return
		case '\\':
			i++
		}
	}
	c.at = len(data)
	c.fail("unfinished string")
}

// word passes over a number, true, false or null.
func (c *cursor) word() {
	for c.at++; c.at < len(c.data); c.at++ {
		switch c.data[c.at] {
		case ',', ':', '"', ']', '}', '[', '{', ' ', '\n', '\r', '\t':
			return
		}
	}
}

// cut reads an object. A member named in take is read by the function there,
// which takes its value; the object of all others is the result.
func (c *cursor) cut(take map[string]func()) []byte {
	rest := bytes.NewBufferString("{")
	for first := true; c.more(first, '{', '}'); first = false {
		c.peek()
		from := c.at
		key := c.text()
		quoted := c.data[min(from, c.at):c.at]
		c.expect(':')
		if read := take[string(key)]; read != nil {
			read()
			continue
		}
		if rest.Len() > 1 {
			rest.WriteByte(',')
		}
		fmt.Fprintf(rest, "%s:%s", quoted, c.value())
	}
	rest.WriteByte('}')
	return rest.Bytes()
}

// end checks that nothing follows.
func (c *cursor) end() error {
	if c.peek() != 0 {
		c.fail("something after the end")
	}
	return c.err
}

// named is a token of a vocab as written.
type named struct {
	name string
	id   int32
}

// vocab takes the vocab of a BPE model. All names are parts of one string,
// which is one allocation instead of a hundred thousand.
func (c *cursor) vocab() []named {
	names := make([]byte, 0, (len(c.data)-c.at)/4)
	var ends []int
	var tokens []named
	for first := true; c.more(first, '{', '}'); first = false {
		names = append(names, c.text()...)
		c.expect(':')
		ends, tokens = append(ends, len(names)), append(tokens, named{id: c.number()})
	}
	all, at := string(names), 0
	for i, end := range ends {
		tokens[i].name = all[at:end]
		at = end
	}
	return tokens
}

// merges takes merge rules, each written "a b" or ["a","b"], and calls rule
// for one after the other. Its arguments last until it returns.
func (c *cursor) merges(rule func(left, right []byte) error) error {
	for first := true; c.more(first, '[', ']'); first = false {
		var left, right []byte
		if c.peek() == '[' {
			left, right = c.pair()
		} else {
			whole := c.text()
			var ok bool
			if left, right, ok = bytes.Cut(whole, []byte{' '}); !ok && c.err == nil {
				return fmt.Errorf("merge %q has no space between its two parts", whole)
			}
		}
		if c.err != nil {
			break
		}
		if err := rule(left, right); err != nil {
			return err
		}
	}
	return c.err
}

// pair takes ["a","b"].
func (c *cursor) pair() (left, right []byte) {
	c.expect('[')
	left = c.text()
	c.expect(',')
	right = c.text()
	if c.peek() != ']' {
		c.fail("merge of other than 2 parts")
	}
	c.at++
	return left, right
}
