package jinja

import "slices"

// maxChain bounds the length of a chain such as a.b.c or a + b + c, which
// nests in the syntax tree.
const maxChain = 1000

// tuple reads an expression, or several with commas between as a Tuple. The
// list of a for does not take in the if after it (withIf false).
func (p *parser) tuple(withIf bool) (expr, error) {
	one := p.expression
	if !withIf {
		one = p.or
	}
	first, err := one()
	if err != nil || !p.is(kindOp, ",") {
		return first, err
	}
	all := []expr{first}
	for p.skip(kindOp, ",") {
		if t := p.peek(); t.kind == kindEndBlock || t.kind == kindEndOut || t.kind == kindOp && t.text == ")" {
			break
		}
		e, err := one()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return tupleLit{all}, nil
}

// expression reads a if b else c and all that binds tighter.
func (p *parser) expression() (expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer p.shallower()
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	for n := 0; p.skip(kindName, "if"); n++ {
		if n > maxChain {
			return nil, p.fail(p.peek().line, "an expression of more than %d parts", maxChain)
		}
		test, err := p.or()
		if err != nil {
			return nil, err
		}
		var other expr
		if p.skip(kindName, "else") {
			if other, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = conditional{e, test, other}
	}
	return e, nil
}

// leftward reads operand op operand op ... that groups to the left.
func (p *parser) leftward(k kind, ops []string, operand func() (expr, error),
	join func(op string, line int, a, b expr) expr) (expr, error) {
	a, err := operand()
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		t := p.peek()
		if t.kind != k || !slices.Contains(ops, t.text) {
			return a, nil
		}
		if n > maxChain {
			return nil, p.fail(t.line, "an expression of more than %d parts", maxChain)
		}
		p.pos++
		b, err := operand()
		if err != nil {
			return nil, err
		}
		a = join(t.text, t.line, a, b)
	}
}

func joinLogical(op string, _ int, a, b expr) expr   { return logical{op, a, b} }
func joinBinary(op string, line int, a, b expr) expr { return binary{op, a, b, line} }

func (p *parser) or() (expr, error) {
	return p.leftward(kindName, []string{"or"}, p.and, joinLogical)
}

func (p *parser) and() (expr, error) {
	return p.leftward(kindName, []string{"and"}, p.not, joinLogical)
}

func (p *parser) not() (expr, error) {
	if !p.skip(kindName, "not") {
		return p.comparison()
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer p.shallower()
	x, err := p.not()
	return not{x}, err
}

func (p *parser) comparison() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	e := comparison{first: first, line: p.peek().line}
	for {
		op := p.comparator()
		if op == "" {
			break
		}
		b, err := p.sum()
		if err != nil {
			return nil, err
		}
		e.ops, e.rest = append(e.ops, op), append(e.rest, b)
	}
	if len(e.ops) == 0 {
		return first, nil
	}
	return e, nil
}

// comparator passes over a comparison operator and returns it, "" if there is none.
func (p *parser) comparator() string {
	t := p.peek()
	switch {
	case t.kind == kindOp && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
		p.pos++
		return t.text
	case t.kind == kindName && t.text == "in":
		p.pos++
		return "in"
	case t.kind == kindName && t.text == "not":
		if after := p.tokens[p.pos+1]; after.kind == kindName && after.text == "in" {
			p.pos += 2
			return "not in"
		}
	}
	return ""
}

func (p *parser) sum() (expr, error) {
	return p.leftward(kindOp, []string{"+", "-"}, p.concat, joinBinary)
}

// concat reads a ~ b ~ c, which binds tighter than + and looser than *.
func (p *parser) concat() (expr, error) {
	e, err := p.product()
	if err != nil || !p.is(kindOp, "~") {
		return e, err
	}
	all := []expr{e}
	for p.skip(kindOp, "~") {
		e, err := p.product()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return concat{all}, nil
}

func (p *parser) product() (expr, error) {
	return p.leftward(kindOp, []string{"*", "/", "//", "%"}, p.power, joinBinary)
}

func (p *parser) power() (expr, error) {
	signed := func() (expr, error) { return p.unary(true) }
	return p.leftward(kindOp, []string{"**"}, signed, joinBinary)
}

// unary reads -x, +x or x. The filters after it belong to the signed value.
func (p *parser) unary(filters bool) (expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer p.shallower()
	t := p.peek()
	var e expr
	var err error
	if t.kind == kindOp && (t.text == "-" || t.text == "+") {
		p.pos++
		e, err = p.unary(false)
		e = unary{t.text, e, t.line}
	} else if e, err = p.primary(); err == nil {
		e, err = p.postfix(e)
	}
	if err != nil || !filters {
		return e, err
	}
	return p.filtersAndTests(e)
}
