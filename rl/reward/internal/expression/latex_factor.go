package expression

import (
	"math/big"
	"strings"
)

func (p *latex) factor() (*Node, error) {
	t := p.peek()
	switch t.class {
	case 'n', 'p':
		p.pos++
		if t.class == 'n' && p.take("_") != "" { // the base of a number counts for nothing
			if _, err := p.subscript(); err != nil {
				return nil, err
			}
		}
		return numeral(t)
	case 's':
		return p.symbol()
	case 0:
		return nil, errSyntax
	}
	if functions[t.text] != "" {
		return p.function()
	}
	switch t.text {
	case "(":
		return p.closed("(", ")", p.outsideBars(p.expr))
	case "[":
		return p.closed("[", "]", p.outsideBars(p.expr))
	case "{":
		return p.group()
	case "|":
		p.inBars++
		n, err := p.closed("|", "|", p.expr)
		p.inBars--
		return wrap("abs", n, err)
	case `\lfloor`:
		n, err := p.closed(`\lfloor`, `\rfloor`, p.outsideBars(p.expr))
		return wrap("floor", n, err)
	case `\lceil`:
		n, err := p.closed(`\lceil`, `\rceil`, p.outsideBars(p.expr))
		return wrap("ceiling", n, err)
	case `\infty`:
		p.pos++
		p.take(`\%`)
		return constant("oo"), nil
	case `\boxed`:
		p.pos++
		return p.closed("{", "}", p.outsideBars(p.expr))
	case `\begin`:
		return p.matrix()
	case `\sum`, `\prod`:
		return p.series()
	case `\frac`, `\binom`, `\sqrt`, `\exp`:
		p.pos++
		return p.command(t.text)
	}
	return nil, errSyntax
}

// outsideBars makes an inner | open an absolute value again.
func (p *latex) outsideBars(inner func() (*Node, error)) func() (*Node, error) {
	return func() (*Node, error) {
		bars := p.inBars
		p.inBars = 0
		defer func() { p.inBars = bars }()
		return inner()
	}
}

// group reads {expr} and {n \choose k}.
func (p *latex) group() (*Node, error) {
	return p.closed("{", "}", p.outsideBars(func() (*Node, error) {
		n, err := p.expr()
		if err != nil || p.take(`\choose`) == "" {
			return n, err
		}
		k, err := p.expr()
		if err != nil {
			return nil, err
		}
		return binomial(n, k), nil
	}))
}

// binomial of two whole numbers is a number, as 10% is, not a call, so that the two can be equal.
func binomial(n, k *Node) *Node {
	out := call("binomial", n, k)
	if n.isInteger() && k.isInteger() {
		if v, err := evaluate(out, nil); err == nil && v.rat != nil {
			return rational(v.rat)
		}
	}
	return out
}

func (p *latex) command(name string) (*Node, error) {
	if name == `\exp` {
		n, err := p.argument()
		if err != nil {
			return nil, err
		}
		return power(constant("e"), n), nil
	}
	var root *Node
	if name == `\sqrt` && p.at("[") {
		n, err := p.closed("[", "]", p.outsideBars(p.expr))
		if err != nil {
			return nil, err
		}
		root = n
	}
	first, err := p.group()
	if err != nil {
		return nil, err
	}
	if name == `\sqrt` {
		if root == nil {
			root = integer(2)
		}
		return power(first, quotient(integer(1), root)), nil
	}
	second, err := p.group()
	if err != nil {
		return nil, err
	}
	if name == `\binom` {
		return binomial(first, second), nil
	}
	return quotient(first, second), nil
}

func numeral(t token) (*Node, error) {
	if mantissa, exp, found := strings.Cut(t.text, "E"); found {
		if len(exp) > 4 || len(mantissa) > maxDigits {
			return nil, errSyntax
		}
		r, ok := new(big.Rat).SetString(mantissa + "e" + exp)
		if !ok {
			return nil, errSyntax
		}
		return &Node{kind: numNode, num: r, decimal: true}, nil
	}
	n, err := Number(t.text)
	if err == nil && t.class == 'p' {
		n = Percent(n)
	}
	return n, err
}

// wrap applies a function to a parsed argument.
func wrap(name string, n *Node, err error) (*Node, error) {
	if err != nil {
		return nil, err
	}
	return call(name, n), nil
}
