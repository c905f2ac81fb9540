package expression

import (
	"maps"
	"math/big"
)

// series reads \sum_{i=1}^{10} i^2, and \prod in the same way, in either order of the bounds. The terms end before the
// next sum or difference. Its arguments are the variable, the bounds and the terms.
func (p *latex) series() (*Node, error) {
	name := map[string]string{`\sum`: "sum", `\prod`: "product"}[p.take(`\sum`, `\prod`)]
	var from, to *Node
	for range 2 {
		var err error
		switch {
		case p.at("_") && from == nil:
			p.pos++
			from, err = p.closed("{", "}", p.binding)
		case p.at("^") && to == nil:
			to, err = p.script()
		default:
			err = errSyntax
		}
		if err != nil {
			return nil, err
		}
	}
	term, err := p.mult()
	if err != nil {
		return nil, err
	}
	return call(name, from.args[0], from.args[1], to, term), nil
}

// binding reads the i=1 below a sum.
func (p *latex) binding() (*Node, error) {
	i, err := p.expr()
	if err != nil || i.kind != symNode || p.take("=") == "" {
		return nil, errSyntax
	}
	low, err := p.expr()
	if err != nil {
		return nil, err
	}
	return relation("=", i, low), nil
}

func (n *Node) isSeries() bool {
	return n.kind == callNode && (n.name == "sum" || n.name == "product") && len(n.args) == 4
}

// maxTerms bounds a sum or product; one of more terms, or of infinitely many, has no value.
const maxTerms = 1000

// series computes a sum or a product between two whole numbers.
func (e *evaluation) series(n *Node) (value, error) {
	low, err := e.of(n.args[1])
	if err != nil {
		return value{}, err
	}
	high, err := e.of(n.args[2])
	if err != nil {
		return value{}, err
	}
	if low.rat == nil || high.rat == nil || !low.rat.IsInt() || !high.rat.IsInt() {
		return value{}, errValue
	}
	count := new(big.Int).Sub(high.rat.Num(), low.rat.Num())
	if count.Sign() < 0 || count.Cmp(big.NewInt(maxTerms)) >= 0 || e.depth >= maxNested {
		return value{}, errValue
	}
	return e.terms(n, low.rat, int(count.Int64())+1)
}

func (e *evaluation) terms(n *Node, low *big.Rat, count int) (value, error) {
	inner := evaluation{env: maps.Clone(e.env), work: e.work, depth: e.depth + 1}
	if inner.env == nil {
		inner.env = map[string]*big.Rat{}
	}
	defer func() { e.work = inner.work }()
	all := make([]value, count)
	for k := range all {
		inner.env[n.args[0].variable()] = new(big.Rat).Add(low, big.NewRat(int64(k), 1))
		if !inner.charge(100) {
			return value{}, errValue
		}
		var err error
		if all[k], err = inner.of(n.args[3]); err != nil {
			return value{}, err
		}
	}
	out := value{}
	if n.name == "sum" {
		out = inner.fold(all, (*big.Rat).Add, plus)
	} else {
		out = inner.fold(all, (*big.Rat).Mul, times)
	}
	for _, v := range all {
		out.decimal = out.decimal || v.decimal
	}
	return out, nil
}

func plus(a, b complex128) complex128 { return a + b }
