package reward

import (
	"math/big"
	"strings"
)

// expr reads sums and differences.
func (p *latex) expr() (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, errSyntax
	}
	left, err := p.mult()
	for err == nil {
		op := p.take("+", "-")
		if op == "" {
			break
		}
		var right *node
		if right, err = p.mult(); err == nil {
			if op == "-" {
				right = negate(right)
			}
			left = sum(left, right)
		}
	}
	return left, err
}

// mult reads products and quotients with a written sign; juxtaposition binds tighter.
func (p *latex) mult() (*node, error) {
	left, err := p.unary()
	for err == nil {
		op := p.take("*", "/", `\over`, `\mod`)
		if op == "" {
			break
		}
		var right *node
		if right, err = p.unary(); err != nil {
			break
		}
		left = map[string]func(a, b *node) *node{"*": product, "/": quotient, `\over`: quotient, `\mod`: modulo}[op](
			left, right)
	}
	return left, err
}

func modulo(a, b *node) *node { return call("mod", a, b) }

func (p *latex) unary() (*node, error) {
	negative := false
	for op := p.take("+", "-"); op != ""; op = p.take("+", "-") {
		negative = negative != (op == "-")
	}
	n, err := p.juxtaposed()
	if err == nil && negative {
		n = negate(n)
	}
	return n, err
}

// juxtaposed reads factors side by side. An integer before a positive rational is a mixed number.
func (p *latex) juxtaposed() (*node, error) {
	var factors []*node
	for len(factors) == 0 || p.startsFactor() {
		n, err := p.postfix()
		if err != nil {
			return nil, err
		}
		factors = append(factors, n)
	}
	out := factors[len(factors)-1]
	for i := len(factors) - 2; i >= 0; i-- {
		f := factors[i]
		if f.isInteger() && out.isExactRational() && out.num.Sign() > 0 {
			part := new(big.Rat).Set(out.num)
			if f.num.Sign() < 0 {
				part.Neg(part)
			}
			out = rational(part.Add(part, f.num))
		} else {
			out = product(f, out)
		}
	}
	return out, nil
}

// startsFactor reports whether the next token can begin another factor.
func (p *latex) startsFactor() bool {
	t := p.peek()
	switch {
	case t.class == 'n' || t.class == 's' || t.class == 'p':
		return true
	case t.class == 0:
		return false
	case t.text == "|":
		return p.inBars == 0
	}
	return p.at("(", "[", "{", `\frac`, `\sqrt`, `\binom`, `\infty`, `\boxed`, `\begin`, `\lfloor`, `\lceil`, `\exp`) ||
		functions[t.text] != ""
}

// postfix reads a power with factorials, degrees and primes after it; the latter two count for nothing.
func (p *latex) postfix() (*node, error) {
	n, err := p.factor()
	for err == nil {
		switch {
		case p.take("!") != "":
			n = call("factorial", n)
		case p.take("'") != "":
		case p.at("^"):
			if p.degree() {
				continue
			}
			var exp *node
			if exp, err = p.script(); err == nil {
				n = power(n, exp)
			}
		default:
			return n, nil
		}
	}
	return n, err
}

// degree consumes ^\circ, ^{\circ} and ^\degree.
func (p *latex) degree() bool {
	start := p.pos
	p.pos++
	braced := p.take("{") != ""
	if p.take(`\circ`, `\degree`) != "" && (!braced || p.take("}") != "") {
		return true
	}
	p.pos = start
	return false
}

// script reads what ^ raises to: one atom, or an expression in braces.
func (p *latex) script() (*node, error) {
	p.pos++
	if p.at("{") {
		return p.closed("{", "}", p.expr)
	}
	if t := p.peek(); t.class == 'n' || t.class == 's' || t.class == 'p' || p.at(`\infty`) {
		return p.factor()
	}
	return nil, errSyntax
}

func (p *latex) factor() (*node, error) {
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
	case `\frac`, `\binom`, `\sqrt`, `\exp`:
		p.pos++
		return p.command(t.text)
	}
	return nil, errSyntax
}

// outsideBars makes an inner | open an absolute value again.
func (p *latex) outsideBars(inner func() (*node, error)) func() (*node, error) {
	return func() (*node, error) {
		bars := p.inBars
		p.inBars = 0
		defer func() { p.inBars = bars }()
		return inner()
	}
}

// group reads {expr} and {n \choose k}.
func (p *latex) group() (*node, error) {
	return p.closed("{", "}", p.outsideBars(func() (*node, error) {
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

// binomial of two whole numbers is a number, as 10% is, and not a call, so that one can equal the other.
func binomial(n, k *node) *node {
	out := call("binomial", n, k)
	if n.isInteger() && k.isInteger() {
		if v, err := evaluate(out, nil); err == nil && v.rat != nil {
			return rational(v.rat)
		}
	}
	return out
}

func (p *latex) command(name string) (*node, error) {
	if name == `\exp` {
		n, err := p.argument()
		if err != nil {
			return nil, err
		}
		return power(constant("e"), n), nil
	}
	var root *node
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

func numeral(t token) (*node, error) {
	if mantissa, exp, found := strings.Cut(t.text, "E"); found {
		if len(exp) > 4 || len(mantissa) > maxDigits {
			return nil, errSyntax
		}
		r, ok := new(big.Rat).SetString(mantissa + "e" + exp)
		if !ok {
			return nil, errSyntax
		}
		return &node{kind: numNode, num: r, decimal: true}, nil
	}
	n, err := number(t.text)
	if err == nil && t.class == 'p' {
		n = percent(n)
	}
	return n, err
}

// wrap applies a function to a parsed argument.
func wrap(name string, n *node, err error) (*node, error) {
	if err != nil {
		return nil, err
	}
	return call(name, n), nil
}
