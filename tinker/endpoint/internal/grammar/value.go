package grammar

import (
	"strconv"
	"strings"
)

// Bounds of values that have none: a model that has lost its way repeats white space and digits until it is cut off.
const (
	mostIndent = 12
	mostDigits = 15 // of a whole number, and after the point: what a float64 holds
)

// parts are what JSON is made of. A compiler makes each once.
type parts struct {
	space *Node
	char  *Node // a character within a string, escaped or not
	value *Node // any value
	dict  *Node // any object
}

func newParts() *parts {
	p := &parts{space: optional(Alt(Text(" "), Seq(Text("\n"), Repeat(between('\t', '\t', ' ', ' '), 0, mostIndent))))}
	p.char = Alt(runes([]rune{' ', '!', '#', '[', ']', 0x10ffff}), Seq(Text(`\`), between('"', '"', '/', '/', '\\',
		'\\', 'b', 'b', 'f', 'f', 'n', 'n', 'r', 'r', 't', 't')), escapedRune())
	value := Alt()
	str := p.quoted(Repeat(p.char, 0, -1))
	p.dict = p.object(str, value, 0, -1)
	value.list = []*Node{p.dict, p.array(nil, value, 0, -1), str, number(), Texts([]string{"true", "false", "null"})}
	p.value = value
	return p
}

// escapedRune is a character written as \u and four digits; one beyond 16 bits as two of them.
func escapedRune() *Node {
	hex := between('0', '9', 'a', 'f', 'A', 'F')
	d := between('d', 'd', 'D', 'D')
	return Seq(Text(`\u`), Alt(
		Seq(between('0', '9', 'a', 'c', 'A', 'C', 'e', 'f', 'E', 'F'), hex, hex, hex),
		Seq(d, between('0', '7'), hex, hex),
		Seq(d, between('8', '9', 'a', 'b', 'A', 'B'), hex, hex, Text(`\u`), d, between('c', 'f', 'C', 'F'), hex, hex)))
}

// quoted is a string.
func (p *parts) quoted(n *Node) *Node { return Seq(Text(`"`), n, Text(`"`)) }

// object has least to most members with keys and values of their own.
func (p *parts) object(key, value *Node, least, most int) *Node {
	member := Seq(p.space, key, Text(":"), p.space, value)
	return Seq(Text("{"), p.list(nil, member, least, most), p.space, Text("}"))
}

// array has items, first those of head.
func (p *parts) array(head []*Node, item *Node, least, most int) *Node {
	var list []*Node
	for _, x := range head {
		list = append(list, Seq(p.space, x))
	}
	if item != nil {
		item = Seq(p.space, item)
	}
	return Seq(Text("["), p.list(list, item, least, most), p.space, Text("]"))
}

// list is least to most items with commas between, first those of head; without item no others.
func (p *parts) list(head []*Node, item *Node, least, most int) *Node {
	if len(head) == 0 {
		if item == nil || most == 0 {
			return Text("")
		}
		rest := Seq(item, Repeat(Seq(Text(","), item), max(0, least-1), max(most-1, -1)))
		if least > 0 {
			return rest
		}
		return Alt(Text(""), rest)
	}
	n := Text("") // what follows an item
	if most >= 0 && most <= len(head) {
		head = head[:most]
	} else if item != nil {
		n = Repeat(Seq(Text(","), item), max(0, least-len(head)), max(most-len(head), -1))
	}
	for i := len(head) - 1; i >= 0; i-- {
		if n = Seq(head[i], n); i > 0 {
			n = Seq(Text(","), n)
		}
		if i >= least {
			n = Alt(Text(""), n)
		}
	}
	return n
}

// digits are so many digits.
func digits(least, most int) *Node { return Repeat(between('0', '9'), least, most) }

// whole is a whole number of at least 0.
func whole() *Node { return Alt(Text("0"), Seq(between('1', '9'), digits(0, mostDigits-1))) }

func optional(n *Node) *Node { return Repeat(n, 0, 1) }

func integer() *Node { return Seq(optional(Text("-")), whole()) }

func number() *Node {
	exponent := Seq(between('e', 'e', 'E', 'E'), optional(between('+', '+', '-', '-')), digits(1, 2))
	return Seq(integer(), optional(fraction()), optional(exponent))
}

func fraction() *Node { return Seq(Text("."), digits(1, mostDigits)) }

// bound is the end of a range of numbers.
type bound struct {
	at   int64
	open bool // the number itself is outside
}

// mostWhole is the largest number that whole writes.
const mostWhole = 999_999_999_999_999

// from is the whole numbers from a to b, both at least 0; nil if there are none.
func from(a, b int64) *Node {
	if a > b {
		return nil
	}
	n := Alt()
	for low, size := int64(0), int64(10); ; low, size = size, size*10 {
		x, y := max(a, low), min(b, size-1)
		if x <= y {
			n.list = append(n.list, alike(strconv.FormatInt(x, 10), strconv.FormatInt(y, 10)))
		}
		if b < size {
			return n
		}
	}
}

// alike is the numbers from a to b, which have as many digits.
func alike(a, b string) *Node {
	zeros, nines := strings.Repeat("0", len(a)), strings.Repeat("9", len(a))
	switch {
	case a == zeros && b == nines:
		return digits(len(a), len(a))
	case a[0] == b[0]:
		return Seq(between(a[0], a[0]), alike(a[1:], b[1:]))
	}
	n := Alt(Seq(between(a[0], a[0]), alike(a[1:], nines[1:])), Seq(between(b[0], b[0]), alike(zeros[1:], b[1:])))
	if a[0]+1 < b[0] {
		n.list = append(n.list, Seq(between(a[0]+1, b[0]-1), digits(len(a)-1, len(a)-1)))
	}
	return n
}

// integersIn is the integers of a range.
func integersIn(low, high bound) *Node {
	a, b := low.at, high.at
	if low.open {
		a++
	}
	if high.open {
		b--
	}
	return signed(a < 0, b >= 0, from(max(1, -b), -a), from(max(0, a), b))
}

// numbersIn is the numbers of a range, written without an exponent.
func numbersIn(low, high bound) *Node {
	zero := bound{}
	below := positive(bound{max(0, -high.at), high.open && high.at <= 0}, bound{-low.at, low.open})
	above := zero
	if low.at >= 0 {
		above = low
	}
	return signed(low.at < 0, high.at >= 0, below, positive(above, high))
}

// signed is the numbers below 0, given without their sign, and those above.
func signed(has, also bool, below, above *Node) *Node {
	n := Alt()
	if has && below != nil {
		n.list = append(n.list, Seq(Text("-"), below))
	}
	if also && above != nil {
		n.list = append(n.list, above)
	}
	return n
}

// positive is the numbers of a range of at least 0; nil if there are none.
func positive(low, high bound) *Node {
	n := Alt()
	add := func(whole, rest *Node) {
		if whole != nil {
			n.list = append(n.list, Seq(whole, rest))
		}
	}
	first := low.at
	if low.open {
		if first++; low.at < high.at {
			add(from(low.at, low.at), Seq(Text("."), Repeat(Text("0"), 0, mostDigits-1), between('1', '9'),
				digits(0, mostDigits)))
		}
	}
	add(from(first, high.at-1), optional(fraction()))
	if !high.open && high.at >= first {
		add(from(high.at, high.at), optional(Seq(Text("."), Repeat(Text("0"), 1, mostDigits))))
	}
	if len(n.list) == 0 {
		return nil
	}
	return n
}
