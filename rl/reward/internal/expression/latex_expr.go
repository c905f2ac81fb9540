package expression

import (
	"math/big"
)

// expr reads sums and differences.
func (p *latex) expr() (*Node, error) {
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
		var right *Node
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
func (p *latex) mult() (*Node, error) {
	left, err := p.unary()
	for err == nil {
		op := p.take("*", "/", `\over`, `\mod`)
		if op == "" {
			break
		}
		var right *Node
		if right, err = p.unary(); err != nil {
			break
		}
		left = map[string]func(a, b *Node) *Node{"*": product, "/": quotient, `\over`: quotient, `\mod`: modulo}[op](
			left, right)
	}
	return left, err
}

func modulo(a, b *Node) *Node { return call("mod", a, b) }

func (p *latex) unary() (*Node, error) {
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
func (p *latex) juxtaposed() (*Node, error) {
	var factors []*Node
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
	return p.at("(", "[", "{", `\frac`, `\sqrt`, `\binom`, `\infty`, `\boxed`, `\begin`, `\lfloor`, `\lceil`, `\exp`,
		`\sum`, `\prod`) ||
		functions[t.text] != ""
}

// postfix reads a power with factorials, degrees and primes after it; the latter two count for nothing.
func (p *latex) postfix() (*Node, error) {
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
			var exp *Node
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
func (p *latex) script() (*Node, error) {
	p.pos++
	if p.at("{") {
		return p.closed("{", "}", p.expr)
	}
	if t := p.peek(); t.class == 'n' || t.class == 's' || t.class == 'p' || p.at(`\infty`) {
		return p.factor()
	}
	return nil, errSyntax
}
