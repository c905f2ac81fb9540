package expression

// set reads unions, intersections and differences of sets.
func (p *latex) set() (*Node, error) {
	left, err := p.setAtom()
	for err == nil {
		op := map[string]string{`\cup`: "union", `\cap`: "intersection", `\setminus`: "minus"}[p.take(`\cup`, `\cap`,
			`\setminus`)]
		if op == "" {
			break
		}
		var right *Node
		if right, err = p.setAtom(); err == nil {
			left = &Node{kind: unionNode, name: op, args: []*Node{left, right}}
		}
	}
	return left, err
}

// setAtom reads an interval, a tuple, a finite set or a named set. A tuple of one is its element.
func (p *latex) setAtom() (*Node, error) {
	switch open := p.take("(", "[", `\{`, "{", `\boxed`, `\emptyset`, `\mathbb`); open {
	case "(", "[":
		return p.intervalOrTuple(open == "(")
	case `\emptyset`:
		return finiteSet(nil), nil
	case `\mathbb`:
		return p.numberSet()
	case `\boxed`:
		if p.take("{") == "" {
			return nil, errSyntax
		}
		groups, err := p.elementList()
		if err == nil && p.take("}") == "" {
			err = errSyntax
		}
		if err != nil {
			return nil, err
		}
		return setOrTuples(groups), nil
	case `\{`, "{":
		return p.braces(map[string]string{`\{`: `\}`, "{": "}"}[open])
	}
	return nil, errSyntax
}

func (p *latex) braces(end string) (*Node, error) {
	if p.take(end) != "" {
		return finiteSet(nil), nil
	}
	groups, err := p.elementList()
	if err == nil && p.take(end) == "" {
		err = errSyntax
	}
	if err != nil {
		return nil, err
	}
	return finiteSet(flatten(groups)), nil
}

// intervalOrTuple reads on after ( or [. Two ends make an interval unless it would be empty.
func (p *latex) intervalOrTuple(leftOpen bool) (*Node, error) {
	groups, err := p.elementList()
	if err != nil {
		return nil, err
	}
	end := p.take(")", "]")
	rightOpen := end == ")"
	elements := flatten(groups)
	switch {
	case end == "":
		return nil, errSyntax
	case len(groups) == 1 && len(elements) == 2 && !elements[0].isSet() && !elements[0].isRelation() &&
		!elements[1].isRelation():
		return interval(elements[0], elements[1], leftOpen, rightOpen), nil
	case leftOpen != rightOpen:
		return nil, errSyntax
	case len(elements) == 1:
		return elements[0], nil
	}
	return tuple(elements), nil
}

func interval(left, right *Node, leftOpen, rightOpen bool) *Node {
	if a, errA := evaluate(left, nil); errA == nil && leftOpen == rightOpen {
		if b, errB := evaluate(right, nil); errB == nil {
			if order := a.compare(b); order > 0 || order == 0 && leftOpen {
				return tuple([]*Node{left, right})
			}
		}
	}
	infinite := func(n *Node) bool { return n.kind == constNode && (n.name == "oo" || n.name == "-oo") }
	return &Node{kind: intervalNode, args: []*Node{left, right}, leftOpen: leftOpen || infinite(left),
		rightOpen: rightOpen || infinite(right)}
}

func (p *latex) numberSet() (*Node, error) {
	if p.take("{") == "" || p.peek().class != 's' {
		return nil, errSyntax
	}
	name := p.peek().text
	p.pos++
	if p.take("}") == "" {
		return nil, errSyntax
	}
	switch name {
	case "N", "Z", "Q", "R", "C":
		return constant("set:" + name), nil
	}
	return nil, errSyntax
}

func flatten(groups [][]*Node) []*Node {
	var all []*Node
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
