package jinja

// forLoop reads {% for target in list if test %}...{% else %}...{% endfor %}.
func (p *parser) forLoop(line int) (stmt, error) {
	s := forStmt{line: line}
	var err error
	if s.target, err = p.targets(); err != nil {
		return nil, err
	}
	if err := p.expect(kindName, "in"); err != nil {
		return nil, err
	}
	if s.over, err = p.tuple(false); err != nil {
		return nil, err
	}
	if p.skip(kindName, "if") {
		if s.filter, err = p.expression(); err != nil {
			return nil, err
		}
	}
	s.recursive = p.skip(kindName, "recursive")
	if err := p.expect(kindEndBlock, ""); err != nil {
		return nil, err
	}
	p.loops++
	body, end, err := p.body("endfor", "else")
	p.loops--
	if err != nil {
		return nil, err
	}
	s.body = body
	if end.text == "else" {
		s.other, err = p.block("endfor")
		return s, err
	}
	return s, p.expect(kindEndBlock, "")
}

// ifElse reads {% if %}...{% elif %}...{% else %}...{% endif %}.
func (p *parser) ifElse() (stmt, error) {
	var s ifStmt
	for {
		test, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		if err := p.expect(kindEndBlock, ""); err != nil {
			return nil, err
		}
		body, end, err := p.body("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		s.branches = append(s.branches, branch{test, body})
		switch end.text {
		case "endif":
			return s, p.expect(kindEndBlock, "")
		case "else":
			body, err := p.block("endif")
			s.branches = append(s.branches, branch{nil, body})
			return s, err
		}
	}
}

// set reads {% set x = value %} or {% set x %}...{% endset %}.
func (p *parser) set(line int) (stmt, error) {
	to, err := p.targets()
	if err != nil {
		return nil, err
	}
	if p.skip(kindOp, "=") {
		e, err := p.tuple(true)
		if err != nil {
			return nil, err
		}
		return setStmt{to, e, line}, p.expect(kindEndBlock, "")
	}
	chain, err := p.chain()
	if err != nil {
		return nil, err
	}
	body, err := p.closed("endset")
	return setBlock{to, body, chain, line}, err
}

// chain reads the filters of a block: | name(args) | name ...
func (p *parser) chain() (filterChain, error) {
	var chain filterChain
	for p.skip(kindOp, "|") {
		f, err := p.filterCall(nil)
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	return chain, nil
}

// targets reads what an assignment is made to: a, b or (a, b) or ns.attr.
func (p *parser) targets() (target, error) {
	first, err := p.target()
	if err != nil || !p.is(kindOp, ",") {
		return first, err
	}
	all := target{list: []target{first}}
	for p.skip(kindOp, ",") {
		if p.peek().kind != kindName && !p.is(kindOp, "(") || p.is(kindName, "in") {
			break
		}
		t, err := p.target()
		if err != nil {
			return all, err
		}
		all.list = append(all.list, t)
	}
	return all, nil
}

func (p *parser) target() (target, error) {
	if err := p.deeper(); err != nil {
		return target{}, err
	}
	defer p.shallower()
	if p.skip(kindOp, "(") {
		t, err := p.targets()
		if err != nil {
			return t, err
		}
		return t, p.expect(kindOp, ")")
	}
	line := p.peek().line
	name, err := p.identifier()
	if err != nil {
		return target{}, err
	}
	if _, reserved := literal(name); reserved {
		return target{}, p.fail(line, "'%s' cannot be assigned to", name)
	}
	t := target{name: name}
	if p.skip(kindOp, ".") {
		t.attr, err = p.identifier()
	}
	return t, err
}

// macro reads {% macro name(params) %}...{% endmacro %}.
func (p *parser) macro(line int) (stmt, error) {
	m := &macro{line: line}
	var err error
	if m.name, err = p.identifier(); err != nil {
		return nil, err
	}
	if err := p.expect(kindOp, "("); err != nil {
		return nil, err
	}
	if err := p.params(m); err != nil {
		return nil, err
	}
	m.body, err = p.closed("endmacro")
	return macroStmt{m}, err
}

// params reads the parameters of a macro after the opening bracket.
func (p *parser) params(m *macro) error {
	for !p.skip(kindOp, ")") {
		if len(m.params) > 0 {
			if err := p.expect(kindOp, ","); err != nil {
				return err
			}
			if p.skip(kindOp, ")") {
				return nil
			}
		}
		name, err := p.identifier()
		if err != nil {
			return err
		}
		m.params = append(m.params, name)
		if p.skip(kindOp, "=") {
			e, err := p.expression()
			if err != nil {
				return err
			}
			m.defaults = append(m.defaults, e)
		} else if len(m.defaults) > 0 {
			return p.fail(m.line, "parameter '%s' without a default follows one with a default", name)
		}
	}
	return nil
}

// callBlock reads {% call(params) macro(args) %}...{% endcall %}.
func (p *parser) callBlock(line int) (stmt, error) {
	m := &macro{name: "caller", line: line}
	if p.skip(kindOp, "(") {
		if err := p.params(m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	c, ok := e.(call)
	if !ok {
		return nil, p.fail(line, "'call' needs a call of a macro")
	}
	m.body, err = p.closed("endcall")
	return callBlock{c, m}, err
}

// with reads {% with a = 1, b = 2 %}...{% endwith %}.
func (p *parser) with(line int) (stmt, error) {
	s := withStmt{line: line}
	for p.peek().kind != kindEndBlock {
		if len(s.targets) > 0 {
			if err := p.expect(kindOp, ","); err != nil {
				return nil, err
			}
		}
		t, err := p.target()
		if err != nil {
			return nil, err
		}
		if err := p.expect(kindOp, "="); err != nil {
			return nil, err
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.targets, s.values = append(s.targets, t), append(s.values, e)
	}
	var err error
	s.body, err = p.block("endwith")
	return s, err
}

// filterBlock reads {% filter name(args) | name %}...{% endfilter %}.
func (p *parser) filterBlock(line int) (stmt, error) {
	first, err := p.filterCall(nil)
	if err != nil {
		return nil, err
	}
	rest, err := p.chain()
	if err != nil {
		return nil, err
	}
	body, err := p.closed("endfilter")
	return filterBlock{body, append(filterChain{first}, rest...), line}, err
}
