// Package grammar restricts what a model writes: a [Node] describes texts, byte by byte, and a [Matcher] says which
// tokens may come next. Nodes are made of JSON schemas (schema.go), regular expressions (pattern.go) and by hand. They
// form a context-free grammar without left recursion.
//
// A matcher holds all readings of the text so far, each a stack of what must follow, and remembers what a byte makes of
// them: the states of an automaton that is built while it is used (matcher.go). A state's mask has the tokens whose
// bytes lead to another state (vocabulary.go). It depends on nothing but the tokens so far, so that a sample is the
// same alone and in a batch.
package grammar

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// Node is a set of texts. Nodes may refer to each other in a circle. They belong to one matcher.
type Node struct {
	kind     kind
	set      set     // oneByte: which
	list     []*Node // parts; of times, one
	min, max int     // of times; max -1 is no limit
	less     *Node   // of times: the same, one time less
}

type kind uint8

const (
	oneByte kind = iota
	sequence
	choice
	times
)

// set is a set of bytes.
type set [4]uint64

func (s *set) add(from, to byte) {
	for b := int(from); b <= int(to); b++ {
		s[b/64] |= 1 << (b % 64)
	}
}

func (s *set) has(b byte) bool { return s[b/64]>>(b%64)&1 == 1 }

// between is a byte in one of the ranges, each of two bytes.
func between(ranges ...byte) *Node {
	n := &Node{}
	for i := 0; i < len(ranges); i += 2 {
		n.set.add(ranges[i], ranges[i+1])
	}
	return n
}

// Text is one text.
func Text(s string) *Node {
	n := &Node{kind: sequence}
	for i := range len(s) {
		n.list = append(n.list, between(s[i], s[i]))
	}
	return n
}

// Seq is a text of each node, one after the other.
func Seq(list ...*Node) *Node { return &Node{kind: sequence, list: list} }

// Alt is a text of one of the nodes.
func Alt(list ...*Node) *Node { return &Node{kind: choice, list: list} }

// Repeat is min to max texts of a node; max -1 is no limit.
func Repeat(n *Node, min, max int) *Node {
	return &Node{kind: times, list: []*Node{n}, min: min, max: max}
}

// Texts is one of several texts. They share their beginnings, so that many of them are few readings.
func Texts(list []string) *Node {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	var rest []*Node
	for len(list) > 0 && list[0] == "" {
		rest, list = append(rest, Text("")), list[1:]
	}
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(s string) bool { return s[0] != list[0][0] })
		if n < 0 {
			n = len(list)
		}
		first := list[0][0]
		var after []string
		for _, s := range list[:n] {
			after = append(after, s[1:])
		}
		if list = list[n:]; len(after) == 1 {
			rest = append(rest, Text(string([]byte{first})+after[0]))
		} else {
			rest = append(rest, Seq(between(first, first), Texts(after)))
		}
	}
	return Alt(rest...)
}

// Until is any text up to the first mark, with the mark.
func Until(mark string) *Node {
	at := make([]*Node, len(mark)+1) // after so many bytes of the mark
	for i := range mark {
		at[i] = Alt()
	}
	at[len(mark)] = Text("")
	for i := range mark {
		var to [256]int
		for b := range 256 { // the longest beginning of the mark with which the text ends then
			text := mark[:i] + string([]byte{byte(b)})
			for to[b] = min(len(text), len(mark)); text[len(text)-to[b]:] != mark[:to[b]]; to[b]-- {
			}
		}
		for j := range at {
			one := &Node{}
			for b := range 256 {
				if to[b] == j {
					one.set.add(byte(b), byte(b))
				}
			}
			if one.set != (set{}) {
				at[i].list = append(at[i].list, Seq(one, at[j]))
			}
		}
	}
	return at[0]
}

// oneLess is what is left of times after one.
func (n *Node) oneLess() *Node {
	if n.less == nil {
		n.less = Repeat(n.list[0], max(0, n.min-1), n.max-1)
		if n.max < 0 {
			n.less.max = -1
		}
		if n.max < 0 && n.min == 0 {
			n.less = n
		}
	}
	return n.less
}

// mostNodes bounds a grammar.
const mostNodes = 1 << 18

// check refuses a grammar whose texts all have no end, or that would have to be read from the right, and removes the
// choices that have no end.
func (n *Node) check() error {
	var all []*Node
	seen := map[*Node]bool{n: true}
	for todo := []*Node{n}; len(todo) > 0; {
		x := todo[len(todo)-1]
		todo, all = todo[:len(todo)-1], append(all, x)
		if len(all) > mostNodes {
			return param.Invalid("", "the schema is too large: its grammar has more than %d parts", mostNodes)
		}
		for _, y := range x.list {
			if !seen[y] {
				seen[y] = true
				todo = append(todo, y)
			}
		}
	}
	if !prune(all)[n] {
		return param.Invalid("", "the schema has no finite value")
	}
	nullable := fixpoint(all, func(x *Node, known map[*Node]bool) bool { return x.ends(known, false) })
	grey := map[*Node]int{}
	for _, x := range all {
		if x.leftRecursive(nullable, grey) {
			return param.Invalid("", "the schema refers to itself without an object or an array between")
		}
	}
	return nil
}

// prune removes the choices that no text has, and returns the nodes that have one.
func prune(all []*Node) map[*Node]bool {
	finite := fixpoint(all, func(x *Node, known map[*Node]bool) bool { return x.ends(known, true) })
	for _, x := range all {
		if x.kind == choice {
			x.list = slices.DeleteFunc(x.list, func(y *Node) bool { return !finite[y] })
		}
		if x.kind == times && !finite[x.list[0]] {
			x.max = 0
		}
	}
	return finite
}

// fixpoint are the nodes for which holds becomes true.
func fixpoint(all []*Node, holds func(*Node, map[*Node]bool) bool) map[*Node]bool {
	known := map[*Node]bool{}
	for more := true; more; {
		more = false
		for _, x := range slices.Backward(all) {
			if !known[x] && holds(x, known) {
				known[x], more = true, true
			}
		}
	}
	return known
}

// ends reports whether a text ends, by what is known of its parts: that they do, or that they can be empty.
func (n *Node) ends(known map[*Node]bool, bytes bool) bool {
	is := func(x *Node) bool { return known[x] }
	switch n.kind {
	case oneByte:
		return bytes && n.set != set{}
	case sequence:
		return !slices.ContainsFunc(n.list, func(x *Node) bool { return !known[x] })
	case choice:
		return slices.ContainsFunc(n.list, is)
	}
	return n.min == 0 || known[n.list[0]]
}

// leftRecursive reports whether a node begins with itself. grey is 1 for nodes that are being looked at, and 2 after.
func (n *Node) leftRecursive(nullable map[*Node]bool, grey map[*Node]int) bool {
	if grey[n] > 0 {
		return grey[n] == 1
	}
	grey[n] = 1
	defer func() { grey[n] = 2 }()
	for _, x := range n.list {
		if x.leftRecursive(nullable, grey) {
			return true
		}
		if n.kind == sequence && !nullable[x] {
			break
		}
	}
	return false
}
