// Package expression parses LaTeX and arithmetic, evaluates it, and tells whether two expressions agree as the Python
// package math_verify 0.9.0 does. Numbers are exact over the rationals as long as that is cheap, else complex floating
// point; the work of one evaluation is bounded.
package expression

import (
	"maps"
	"math/big"
	"strconv"
	"strings"
)

// kind tells the nodes of an expression apart.
type kind uint8

const (
	numNode      kind = iota // a rational, num; decimal if it was written with a point
	symNode                  // a variable, name
	constNode                // pi, e, I, EulerGamma, oo, -oo, zoo, or a set of numbers, name
	addNode                  // the sum of args
	mulNode                  // the product of args
	powNode                  // args[0] to the power args[1]
	callNode                 // the function name of args
	percentNode              // args[0] in percent
	tupleNode                // ordered args
	setNode                  // a finite set of args, in the order written, without repeats
	intervalNode             // from args[0] to args[1], ends open as leftOpen and rightOpen say
	unionNode                // name is the operation: union, intersection, minus
	relNode                  // args[0] name args[1], name one of = != < <= > >=
	chainNode                // args are the relations of a chain such as 0 < x < 1
	matrixNode               // args are rows, each a tupleNode
)

// Node is an expression. Nodes are never changed once built.
type Node struct {
	kind                kind
	name                string
	num                 *big.Rat
	decimal             bool
	leftOpen, rightOpen bool
	nonreal             bool // a variable of an expression that looks complex, another than its real namesake
	args                []*Node
}

func integer(n int64) *Node                 { return &Node{kind: numNode, num: big.NewRat(n, 1)} }
func rational(r *big.Rat) *Node             { return &Node{kind: numNode, num: r} }
func constant(name string) *Node            { return &Node{kind: constNode, name: name} }
func call(name string, args ...*Node) *Node { return &Node{kind: callNode, name: name, args: args} }
func power(base, exp *Node) *Node           { return &Node{kind: powNode, args: []*Node{base, exp}} }
func Percent(n *Node) *Node                 { return &Node{kind: percentNode, args: []*Node{n}} }
func tuple(args []*Node) *Node              { return &Node{kind: tupleNode, args: args} }
func relation(op string, left, rt *Node) *Node {
	return &Node{kind: relNode, name: op, args: []*Node{left, rt}}
}
func (n *Node) isNum() bool           { return n.kind == numNode }
func (n *Node) isInteger() bool       { return n.isNum() && !n.decimal && n.num.IsInt() }
func (n *Node) isExactRational() bool { return n.isNum() && !n.decimal }
func (n *Node) isSet() bool {
	return n.kind == setNode || n.kind == intervalNode || n.kind == unionNode || n.isNumberSet()
}
func (n *Node) isNumberSet() bool { return n.kind == constNode && strings.HasPrefix(n.name, "set:") }
func (n *Node) isRelation() bool  { return n.kind == relNode || n.kind == chainNode }

// product multiplies, without simplifying, and flattens products of products.
func product(a, b *Node) *Node { return flat(mulNode, a, b) }

// sum adds, without simplifying, and flattens sums of sums.
func sum(a, b *Node) *Node { return flat(addNode, a, b) }

func flat(k kind, a, b *Node) *Node {
	out := &Node{kind: k}
	for _, n := range []*Node{a, b} {
		if n.kind == k {
			out.args = append(out.args, n.args...)
		} else {
			out.args = append(out.args, n)
		}
	}
	return out
}

// negate keeps numbers numbers.
func negate(n *Node) *Node {
	switch {
	case n.isNum():
		return &Node{kind: numNode, num: new(big.Rat).Neg(n.num), decimal: n.decimal}
	case n.kind == constNode && n.name == "oo":
		return constant("-oo")
	case n.kind == constNode && n.name == "-oo":
		return constant("oo")
	}
	return product(integer(-1), n)
}

// quotient divides; two integers make a rational, and nothing but zoo comes of dividing one by zero.
func quotient(a, b *Node) *Node {
	if a.isInteger() && b.isInteger() {
		if b.num.Sign() == 0 {
			return constant("zoo")
		}
		return rational(new(big.Rat).Quo(a.num, b.num))
	}
	return product(a, power(b, integer(-1)))
}

// finiteSet keeps one of equal elements.
func finiteSet(elements []*Node) *Node {
	out := &Node{kind: setNode}
	seen := map[string]bool{}
	for _, e := range elements {
		if key := e.String(); !seen[key] {
			seen[key] = true
			out.args = append(out.args, e)
		}
	}
	return out
}

// All is the set of several answers; the elements of one that is a set itself are among them.
func All(answers []*Node) *Node { return finiteSet(members(answers)) }

// members replaces sets by their elements.
func members(exprs []*Node) []*Node {
	var out []*Node
	for _, e := range exprs {
		if e.kind == setNode {
			out = append(out, e.args...)
		} else {
			out = append(out, e)
		}
	}
	return out
}

// String is a canonical spelling: two nodes of one structure have one spelling.
func (n *Node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *Node) write(b *strings.Builder) {
	if n.isNum() {
		b.WriteString(n.num.RatString())
		if n.decimal {
			b.WriteByte('f')
		}
		return
	}
	b.WriteString(strconv.Itoa(int(n.kind)))
	b.WriteString(n.name)
	if n.nonreal {
		b.WriteByte('*')
	}
	if n.leftOpen {
		b.WriteByte('<')
	}
	if n.rightOpen {
		b.WriteByte('>')
	}
	b.WriteByte('(')
	for i, a := range n.args {
		if i > 0 {
			b.WriteByte(',')
		}
		a.write(b)
	}
	b.WriteByte(')')
}

// onlySymbols reports whether n is built of variables alone, as the left side of an assignment is.
func (n *Node) onlySymbols() bool {
	if n.kind == symNode {
		return true
	}
	if n.kind == powNode && n.args[1].isNum() && n.args[1].num.Cmp(big.NewRat(-1, 1)) == 0 {
		return n.args[0].onlySymbols()
	}
	for _, a := range n.args {
		if !a.onlySymbols() {
			return false
		}
	}
	return len(n.args) > 0
}

// variable is the name that tells a variable from all others.
func (n *Node) variable() string {
	if n.nonreal {
		return n.name + "*"
	}
	return n.name
}

// variables adds the names of n's variables to set.
func (n *Node) variables(set map[string]bool) {
	if n.kind == symNode {
		set[n.variable()] = true
	}
	if n.isSeries() {
		n.args[1].variables(set)
		n.args[2].variables(set)
		inside := map[string]bool{}
		n.args[3].variables(inside)
		delete(inside, n.args[0].variable())
		maps.Copy(set, inside)
		return
	}
	for _, a := range n.args {
		a.variables(set)
	}
}
