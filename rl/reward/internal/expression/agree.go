package expression

import (
	"math/big"
	"slices"
	"strings"
)

// Answer is one reading of a text: an expression, or failing that the text itself.
type Answer struct {
	Expr *Node
	Text string
}

// Agree reports whether any reading of gold agrees with any of pred. Expressions agree with expressions,
// texts with equal texts. The two are not alike: an equation is unwrapped as gold's form asks for it.
func Agree(gold, pred []Answer) bool {
	for _, g := range gold {
		for _, p := range pred {
			if g.Expr != nil && p.Expr != nil {
				if agree(g.Expr, p.Expr) {
					return true
				}
			} else if g.Expr == nil && p.Expr == nil && strings.TrimSpace(g.Text) != "" &&
				strings.TrimSpace(g.Text) == strings.TrimSpace(p.Text) {
				return true
			}
		}
	}
	return false
}

// agree compares two expressions.
func agree(gold, pred *Node) bool {
	goldAssigns, predAssigns := gold.assigns(), pred.assigns()
	if goldAssigns {
		gold = relation("=", gold.first().args[0], gold.last().args[1])
	}
	if predAssigns {
		pred = relation("=", pred.first().args[0], pred.last().args[1])
	}
	if pred.equation() && !gold.equation() {
		pred = pred.last().args[1]
	} else if goldAssigns && !pred.equation() {
		gold = gold.last().args[1]
	}
	if gold.isRelation() && pred.isSet() {
		if set := solutionSet(gold); set != nil {
			gold = set
		}
	}
	switch {
	case gold.kind == constNode && gold.name == "zoo":
		return false
	case gold.String() == pred.String():
		return true
	case gold.isRelation() && pred.isRelation():
		return agreeRelations(gold, pred)
	case gold.isSet() || pred.isSet() || gold.kind == tupleNode || pred.kind == tupleNode:
		return agreeSets(gold, pred)
	case gold.kind == symNode || pred.kind == symNode:
		return agreeNames(gold, pred)
	case gold.kind == matrixNode && pred.kind == matrixNode:
		return agreeMatrices(gold, pred)
	}
	return agreeNumbers(gold, pred) || agreeEverywhere(gold, pred)
}

func (n *Node) first() *Node {
	if n.kind == chainNode {
		return n.args[0]
	}
	return n
}

func (n *Node) last() *Node {
	if n.kind == chainNode {
		return n.args[len(n.args)-1]
	}
	return n
}

// equation reports whether n is a = b or a chain of equals signs.
func (n *Node) equation() bool {
	if n.kind == chainNode {
		for _, r := range n.args {
			if !r.equation() {
				return false
			}
		}
		return true
	}
	return n.kind == relNode && n.name == "="
}

// assigns reports whether n gives variables a value, as x = 1 does.
func (n *Node) assigns() bool {
	return n.equation() && n.first().args[0].onlySymbols()
}

// atomic is the number a node is, as written, percent signs aside.
func (n *Node) atomic() *Node {
	if n.kind == percentNode {
		n = n.args[0]
	}
	if n.isNum() {
		return n
	}
	return nil
}

// agreeNumbers compares values. If one side is a number written with a point, six decimals count, except
// against an integer; 9 % agrees with 9 as well as with 0.09.
func agreeNumbers(gold, pred *Node) bool {
	a, errA := evaluate(gold, nil)
	b, errB := evaluate(pred, nil)
	if errA != nil || errB != nil {
		return false
	}
	g, p := gold.atomic(), pred.atomic()
	if g != nil && g.decimal || p != nil && p.decimal {
		if !a.exactInteger() && !b.exactInteger() && sixDecimals(a).equal(sixDecimals(b)) {
			return true
		}
	} else if g != nil && p != nil && g.isInteger() && p.isInteger() && g.num.Cmp(p.num) == 0 {
		return true
	}
	return a.equal(b)
}

func (v value) exactInteger() bool { return v.rat != nil && v.rat.IsInt() && !v.decimal }

// sixDecimals rounds to six decimals, halves to even.
func sixDecimals(v value) value {
	r := v.rat
	if r == nil {
		if imag(v.approx) != 0 {
			return v
		}
		r = new(big.Rat).SetFloat64(real(v.approx))
	}
	scaled := new(big.Rat).Mul(r, big.NewRat(1_000_000, 1))
	whole := rounded("floor", value{rat: scaled}).rat
	switch new(big.Rat).Sub(scaled, whole).Cmp(big.NewRat(1, 2)) {
	case 1:
		whole = whole.Add(whole, big.NewRat(1, 1))
	case 0:
		if whole.Num().Bit(0) == 1 {
			whole = whole.Add(whole, big.NewRat(1, 1))
		}
	}
	return value{rat: whole.Quo(whole, big.NewRat(1_000_000, 1))}
}

// agreeEverywhere compares expressions with variables by their values at a few fixed points.
func agreeEverywhere(gold, pred *Node) bool {
	compared := 0
	for _, env := range points(gold, pred) {
		a, errA := evaluate(gold, env)
		b, errB := evaluate(pred, env)
		if errA != nil || errB != nil {
			continue
		}
		if !a.equal(b) {
			return false
		}
		compared++
	}
	return compared > 1
}

// points are the assignments of values to the variables of the nodes at which expressions are compared:
// fractions without pattern, of both signs.
func points(nodes ...*Node) []map[string]*big.Rat {
	set := map[string]bool{}
	for _, n := range nodes {
		n.variables(set)
	}
	if len(set) == 0 {
		return nil
	}
	names := sortedKeys(set)
	starts := []int64{17, 101, -43, 389, -211, 5}
	out := make([]map[string]*big.Rat, len(starts))
	for i, start := range starts {
		out[i] = map[string]*big.Rat{}
		for j, name := range names {
			k := int64(j)
			out[i][name] = big.NewRat(start*(2*k+3)+7*k*k+int64(i), 29+2*k)
		}
	}
	return out
}

// agreeNames compares variables by name, a name with the product of its letters, \text{72} with 72 and \text{3/4} with
// ¾.
func agreeNames(gold, pred *Node) bool {
	g, okG := spelled(gold)
	p, okP := spelled(pred)
	if gold.kind == symNode && pred.isExactRational() {
		return gold.name == pred.num.RatString()
	}
	if pred.kind == symNode && gold.isExactRational() {
		return pred.name == gold.num.RatString()
	}
	return okG && okP && g == p
}

// spelled joins the letters of a product of variables; the constant e is a letter here.
func spelled(n *Node) (string, bool) {
	switch {
	case n.kind == symNode:
		return n.name, true
	case n.kind == constNode && n.name == "e":
		return "e", true
	case n.kind == mulNode:
		var b strings.Builder
		for _, a := range n.args {
			if a.kind == mulNode {
				return "", false
			}
			s, ok := spelled(a)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}

func agreeMatrices(gold, pred *Node) bool {
	return slices.EqualFunc(gold.args, pred.args, func(a, b *Node) bool {
		return slices.EqualFunc(a.args, b.args, agree)
	})
}
