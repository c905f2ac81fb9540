package jinja

import (
	"slices"
	"strconv"
)

// postfix reads the attributes, subscripts and calls after a value.
func (p *parser) postfix(e expr) (expr, error) {
	for n := 0; ; n++ {
		t := p.peek()
		if t.kind != kindOp {
			return e, nil
		}
		if n > maxChain {
			return nil, p.fail(t.line, "an expression of more than %d parts", maxChain)
		}
		var err error
		switch t.text {
		case ".":
			e, err = p.attribute(e)
		case "[":
			e, err = p.subscript(e)
		case "(":
			c := call{fn: e, line: t.line}
			err = p.arguments(&c.args)
			e = c
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// attribute reads .name or .0
func (p *parser) attribute(of expr) (expr, error) {
	p.pos++
	t := p.next()
	switch t.kind {
	case kindName:
		return attribute{of, t.text, t.line}, nil
	case kindInt:
		i, err := strconv.ParseInt(t.text, 10, 64)
		return subscript{of, constant{i}, t.line}, err
	}
	return nil, p.fail(t.line, "%s where the name of an attribute is needed", t.describe())
}

// subscript reads [index] or [from:to:step].
func (p *parser) subscript(of expr) (expr, error) {
	line := p.next().line
	var parts [3]expr
	n := 0
	for {
		if p.skip(kindOp, ":") {
			n++
			if n > 2 {
				return nil, p.fail(line, "a slice has at most three parts")
			}
			continue
		}
		if p.skip(kindOp, "]") {
			break
		}
		if parts[n] != nil {
			return nil, p.fail(line, "%s where ']' is needed", p.peek().describe())
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		parts[n] = e
	}
	if n > 0 {
		return slicing{of, parts[0], parts[1], parts[2], line}, nil
	}
	if parts[0] == nil {
		return nil, p.fail(line, "an empty subscript")
	}
	return subscript{of, parts[0], line}, nil
}

// arguments reads (a, b, c=d, *e, **f).
func (p *parser) arguments(l *argList) error {
	if err := p.expect(kindOp, "("); err != nil {
		return err
	}
	for first := true; !p.skip(kindOp, ")"); first = false {
		if !first {
			if err := p.expect(kindOp, ","); err != nil {
				return err
			}
			if p.skip(kindOp, ")") {
				return nil
			}
		}
		if err := p.argument(l); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) argument(l *argList) error {
	t := p.peek()
	star, spread, named := p.skip(kindOp, "*"), p.skip(kindOp, "**"), ""
	if after := p.tokens[min(p.pos+1, len(p.tokens)-1)]; t.kind == kindName && after.kind == kindOp &&
		after.text == "=" {
		p.pos += 2
		named = t.text
	}
	e, err := p.expression()
	if err != nil {
		return err
	}
	if named == "" && !spread {
		if len(l.named) > 0 {
			return p.fail(t.line, "an argument without name follows one with a name")
		}
		l.pos = append(l.pos, argument{e, star})
		return nil
	}
	l.named = append(l.named, namedArgument{named, e})
	return nil
}

// filtersAndTests reads | filter, is test, and calls of what these return.
func (p *parser) filtersAndTests(e expr) (expr, error) {
	for n := 0; ; n++ {
		t := p.peek()
		if n > maxChain {
			return nil, p.fail(t.line, "an expression of more than %d parts", maxChain)
		}
		var err error
		switch {
		case p.skip(kindOp, "|"):
			e, err = p.filterCall(e)
		case p.skip(kindName, "is"):
			e, err = p.testCall(e)
		case p.is(kindOp, "("):
			c := call{fn: e, line: t.line}
			err = p.arguments(&c.args)
			e = c
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// dotted reads a name of a filter or test, which may hold dots.
func (p *parser) dotted() (string, error) {
	text, err := p.identifier()
	for err == nil && p.skip(kindOp, ".") {
		var more string
		more, err = p.identifier()
		text += "." + more
	}
	return text, err
}

// filterCall reads name(args) after the bar.
func (p *parser) filterCall(x expr) (filtering, error) {
	f := filtering{x: x, line: p.peek().line}
	var err error
	if f.name, err = p.dotted(); err != nil {
		return f, err
	}
	if p.is(kindOp, "(") {
		err = p.arguments(&f.args)
	}
	return f, err
}

// testCall reads not name(args) or name argument after is.
func (p *parser) testCall(x expr) (expr, error) {
	t := checking{x: x, negated: p.skip(kindName, "not"), line: p.peek().line}
	var err error
	if t.name, err = p.dotted(); err != nil {
		return nil, err
	}
	if p.is(kindOp, "(") {
		return t, p.arguments(&t.args)
	}
	if !p.startsArgument() {
		return t, nil
	}
	if p.is(kindName, "is") {
		return nil, p.fail(t.line, "tests cannot be chained with is")
	}
	arg, err := p.primary()
	if err != nil {
		return nil, err
	}
	arg, err = p.postfix(arg)
	t.args.pos = []argument{{e: arg}}
	return t, err
}

// startsArgument reports whether the argument of a test follows without brackets.
func (p *parser) startsArgument() bool {
	t := p.peek()
	switch t.kind {
	case kindName:
		return !slices.Contains([]string{"else", "or", "and", "if", "in", "not"}, t.text)
	case kindString, kindInt, kindFloat:
		return true
	case kindOp:
		return t.text == "[" || t.text == "{"
	}
	return false
}
