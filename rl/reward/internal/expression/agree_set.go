package expression

import (
	"maps"
	"math/big"
	"slices"
)

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// agreeSets compares sets and tuples; what is neither counts as a set of one.
func agreeSets(gold, pred *Node) bool {
	a, b := gold.asSet(), pred.asSet()
	switch {
	case a.kind == intervalNode && b.kind == intervalNode:
		return a.leftOpen == b.leftOpen && a.rightOpen == b.rightOpen && agree(a.args[0], b.args[0]) &&
			agree(a.args[1], b.args[1])
	case a.kind == unionNode && b.kind == unionNode:
		return a.name == b.name && agreeUnordered(a.args, b.args)
	case a.listed() && b.listed():
		return agreeElements(a, b)
	case a.openPair() && b.listed(): // (1, 2) may be a pair
		return agreeElements(tuple(a.args), b)
	case a.listed() && b.openPair():
		return agreeElements(a, tuple(b.args))
	}
	return a.String() == b.String()
}

func (n *Node) asSet() *Node {
	if n.isSet() || n.kind == tupleNode {
		return n
	}
	return finiteSet([]*Node{n})
}

func (n *Node) listed() bool { return n.kind == setNode || n.kind == tupleNode }

func (n *Node) openPair() bool { return n.kind == intervalNode && n.leftOpen && n.rightOpen }

// agreeElements pairs the elements: in order if gold is a tuple, in any order if it is a set.
func agreeElements(gold, pred *Node) bool {
	if gold.kind == setNode {
		return agreeUnordered(gold.args, pred.args)
	}
	return slices.EqualFunc(gold.args, pred.args, agree)
}

func agreeUnordered(gold, pred []*Node) bool {
	if len(gold) != len(pred) {
		return false
	}
	left := slices.Clone(pred)
	for _, g := range gold {
		i := slices.IndexFunc(left, func(p *Node) bool { return agree(g, p) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// agreeRelations compares relations: the same up to moving terms, turning round, and for equations factors.
func agreeRelations(gold, pred *Node) bool {
	if gold.kind == chainNode && pred.kind == chainNode {
		return slices.EqualFunc(gold.args, pred.args, agreeRelations)
	}
	if gold.kind != relNode || pred.kind != relNode {
		return false
	}
	g, p := difference(gold), difference(pred)
	if g == nil || p == nil {
		return gold.name == pred.name && agree(gold.args[0], pred.args[0]) && agree(gold.args[1], pred.args[1])
	}
	if gold.name == pred.name && same(g, p) {
		return true
	}
	turned := map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
	if turned[gold.name] == pred.name && same(g, negate(p)) {
		return true
	}
	if gold.name != "=" || pred.name != "=" {
		return false
	}
	// Upstream solves both equations and compares the solutions. That fails when there is one variable, and
	// when there is none both lists are empty: 6 + 30 = 36 then agrees with any other such equation.
	unknowns, others := map[string]bool{}, map[string]bool{}
	g.variables(unknowns)
	p.variables(others)
	if len(unknowns) == 0 && len(others) == 0 {
		return true
	}
	return len(unknowns) > 1 && maps.Equal(unknowns, others) && proportional(g, p)
}

func same(a, b *Node) bool { return agreeNumbers(a, b) || agreeEverywhere(a, b) }

// difference is left minus right, nil if a side is a set.
func difference(r *Node) *Node {
	for _, side := range r.args {
		if side.isSet() || side.kind == tupleNode || side.kind == matrixNode {
			return nil
		}
	}
	return sum(r.args[0], product(integer(-1), r.args[1]))
}

// proportional reports whether one is a constant multiple of the other, so that both vanish together.
func proportional(a, b *Node) bool {
	var x, y value
	compared := 0
	for _, env := range points(a, b) {
		u, errU := evaluate(a, env)
		v, errV := evaluate(b, env)
		if errU != nil || errV != nil {
			continue
		}
		if compared > 0 && !multiply(u, y).equal(multiply(v, x)) {
			return false
		}
		x, y = u, v
		compared++
	}
	return compared > 1
}

func multiply(a, b value) value {
	return new(evaluation).fold([]value{a, b}, (*big.Rat).Mul, times)
}

// solutionSet is the interval or point in which a relation linear in its one variable holds, nil if it is
// anything else.
func solutionSet(r *Node) *Node {
	set := map[string]bool{}
	r.variables(set)
	if len(set) != 1 {
		return nil
	}
	name := sortedKeys(set)[0]
	low, high := constant("-oo"), constant("oo")
	lowOpen, highOpen := true, true
	relations := []*Node{r}
	if r.kind == chainNode {
		relations = r.args
	}
	for _, part := range relations {
		bound, op := linearBound(part, name)
		switch {
		case bound == nil || op == "!=":
			return nil
		case op == "=":
			return finiteSet([]*Node{bound})
		case op[0] == '<':
			high, highOpen = bound, op == "<"
		default:
			low, lowOpen = bound, op == ">"
		}
	}
	return interval(low, high, lowOpen, highOpen)
}

// linearBound solves a linear relation for the variable: variable op bound.
func linearBound(r *Node, name string) (bound *Node, op string) {
	d := difference(r)
	if d == nil {
		return nil, ""
	}
	var at [3]*big.Rat
	for i := range at {
		v, err := evaluate(d, map[string]*big.Rat{name: big.NewRat(int64(i), 1)})
		if err != nil || v.rat == nil {
			return nil, ""
		}
		at[i] = v.rat
	}
	slope := new(big.Rat).Sub(at[1], at[0])
	if slope.Sign() == 0 || slope.Cmp(new(big.Rat).Sub(at[2], at[1])) != 0 {
		return nil, ""
	}
	op = r.name
	if slope.Sign() < 0 {
		op = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}[op]
	}
	return rational(new(big.Rat).Neg(new(big.Rat).Quo(at[0], slope))), op
}
