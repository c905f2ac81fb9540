package grammar

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// pattern is the texts within a string that an expression finds something in. Expressions are Go's, which are those of
// JavaScript without look-around and references.
func (c *compiler) pattern(text string) (*Node, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return c.found(re)
}

// found is the texts that an expression finds something in. Anchors may stand at its ends.
func (c *compiler) found(re *syntax.Regexp) (*Node, error) {
	switch re.Op {
	case syntax.OpCapture:
		return c.found(re.Sub[0])
	case syntax.OpAlternate:
		return listed(Alt(), re.Sub, c.found)
	}
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	before, after := Repeat(c.char, 0, -1), Repeat(c.char, 0, -1)
	if len(list) > 0 && list[0].Op == syntax.OpBeginText {
		before, list = Text(""), list[1:]
	}
	if n := len(list); n > 0 && list[n-1].Op == syntax.OpEndText {
		after, list = Text(""), list[:n-1]
	}
	n, err := listed(Seq(), list, c.regexp)
	return Seq(before, n, after), err
}

// listed adds what read makes of expressions to n.
func listed(n *Node, list []*syntax.Regexp, read func(*syntax.Regexp) (*Node, error)) (*Node, error) {
	for _, re := range list {
		one, err := read(re)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, one)
	}
	return n, nil
}

func (c *compiler) regexp(re *syntax.Regexp) (*Node, error) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return Text(""), nil
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return nil, errors.New("it ignores the case of letters")
		}
		n := Seq()
		for _, r := range re.Rune {
			n.list = append(n.list, c.class([]rune{r, r}))
		}
		return n, nil
	case syntax.OpCharClass:
		if len(re.Rune) > 512 {
			return nil, fmt.Errorf("a class has %d ranges of characters; it may have 256", len(re.Rune)/2)
		}
		return c.class(re.Rune), nil
	case syntax.OpAnyCharNotNL:
		return c.class([]rune{0, '\n' - 1, '\n' + 1, utf8.MaxRune}), nil
	case syntax.OpAnyChar:
		return c.class([]rune{0, utf8.MaxRune}), nil
	case syntax.OpCapture, syntax.OpConcat:
		return listed(Seq(), re.Sub, c.regexp)
	case syntax.OpAlternate:
		return listed(Alt(), re.Sub, c.regexp)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return c.repeat(re)
	}
	return nil, fmt.Errorf("%s stands within it", re)
}

func (c *compiler) repeat(re *syntax.Regexp) (*Node, error) {
	n, err := c.regexp(re.Sub[0])
	least, most := re.Min, re.Max
	switch re.Op {
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpQuest:
		least, most = 0, 1
	}
	if err != nil {
		return nil, err
	}
	return Repeat(n, least, most), nil
}

// escapes are characters that stand in a string with a backslash before them.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\t': `\t`, '\r': `\r`, '\b': `\b`, '\f': `\f`}

// class is one of the characters in ranges, as it stands within a string. Other control characters are left out.
func (c *compiler) class(ranges []rune) *Node {
	var texts []string
	var plain []rune
	for i := 0; i < len(ranges); i += 2 {
		low, high := ranges[i], ranges[i+1]
		for r, text := range escapes {
			if low <= r && r <= high {
				texts = append(texts, text)
			}
		}
		for _, part := range [][2]rune{{' ', '!'}, {'#', '['}, {']', utf8.MaxRune}} {
			if a, b := max(low, part[0]), min(high, part[1]); a <= b {
				plain = append(plain, a, b)
			}
		}
	}
	n := runes(plain)
	if len(texts) > 0 {
		n.list = append(n.list, Texts(texts))
	}
	return n
}

// runes is one of the characters in ranges, in UTF-8.
func runes(ranges []rune) *Node {
	n := Alt()
	var ascii set
	for i := 0; i < len(ranges); i += 2 {
		for _, part := range [][2]rune{{0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000,
			utf8.MaxRune}} { // without surrogates
			a, b := max(ranges[i], part[0]), min(ranges[i+1], part[1])
			switch {
			case a > b:
			case part[1] == 0x7f:
				ascii.add(byte(a), byte(b))
			default:
				n.list = append(n.list, encoded([]byte(string(a)), []byte(string(b)))...)
			}
		}
	}
	if ascii != (set{}) {
		n.list = append(n.list, &Node{set: ascii})
	}
	return n
}

// encoded is the characters from a to b, which have as many bytes.
func encoded(a, b []byte) []*Node {
	if len(a) == 1 {
		return []*Node{between(a[0], b[0])}
	}
	if a[0] == b[0] {
		return []*Node{Seq(between(a[0], a[0]), Alt(encoded(a[1:], b[1:])...))}
	}
	least, most := slices.Repeat([]byte{0x80}, len(a)-1), slices.Repeat([]byte{0xbf}, len(a)-1)
	var list []*Node
	from, to := a[0], b[0]
	if !slices.Equal(a[1:], least) {
		list, from = append(list, Seq(between(from, from), Alt(encoded(a[1:], most)...))), from+1
	}
	if !slices.Equal(b[1:], most) {
		list, to = append(list, Seq(between(to, to), Alt(encoded(least, b[1:])...))), to-1
	}
	if from <= to {
		rest := Repeat(between(0x80, 0xbf), len(a)-1, len(a)-1)
		list = append(list, Seq(between(from, to), rest))
	}
	return list
}
