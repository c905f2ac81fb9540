package jinja

import "strconv"

// literal returns the value of the names that are constants.
func literal(name string) (Value, bool) {
	switch name {
	case "true", "True":
		return true, true
	case "false", "False":
		return false, true
	case "none", "None":
		return nil, true
	}
	return nil, false
}

func (p *parser) primary() (expr, error) {
	t := p.next()
	switch t.kind {
	case kindName:
		if v, ok := literal(t.text); ok {
			return constant{v}, nil
		}
		return name{t.text}, nil
	case kindString:
		text := t.text
		for p.peek().kind == kindString {
			text += p.next().text
		}
		return constant{text}, nil
	case kindInt:
		v, err := strconv.ParseInt(t.text, 10, 64)
		return constant{v}, err
	case kindFloat:
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.fail(t.line, "%v", err)
		}
		return constant{v}, nil
	case kindOp:
		switch t.text {
		case "(":
			return p.parenthesis()
		case "[":
			list, err := p.list("]")
			return listLit{list}, err
		case "{":
			return p.dict()
		}
	}
	return nil, p.fail(t.line, "%s where a value is needed", t.describe())
}

// parenthesis reads (), (a) or (a, b) after its opening.
func (p *parser) parenthesis() (expr, error) {
	if p.skip(kindOp, ")") {
		return tupleLit{}, nil
	}
	e, err := p.tuple(true)
	if err != nil {
		return nil, err
	}
	return e, p.expect(kindOp, ")")
}

// list reads expressions with commas between, and the closing bracket.
func (p *parser) list(end string) (all []expr, err error) {
	for !p.skip(kindOp, end) {
		if len(all) > 0 {
			if err := p.expect(kindOp, ","); err != nil {
				return nil, err
			}
			if p.skip(kindOp, end) {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func (p *parser) dict() (expr, error) {
	var d dictLit
	for !p.skip(kindOp, "}") {
		if len(d.keys) > 0 {
			if err := p.expect(kindOp, ","); err != nil {
				return nil, err
			}
			if p.skip(kindOp, "}") {
				break
			}
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expect(kindOp, ":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, k), append(d.values, v)
	}
	return d, nil
}
