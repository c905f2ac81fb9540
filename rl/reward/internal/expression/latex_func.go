package expression

import "strings"

// functions are the commands applied to what follows them.
var functions = map[string]string{
	`\sin`: "sin", `\cos`: "cos", `\tan`: "tan", `\csc`: "csc", `\sec`: "sec", `\cot`: "cot",
	`\arcsin`: "asin", `\arccos`: "acos", `\arctan`: "atan", `\sinh`: "sinh", `\cosh`: "cosh", `\tanh`: "tanh",
	`\log`: "log", `\ln`: "log", `\gcd`: "gcd", `\lcm`: "lcm", `\max`: "max", `\min`: "min",
}

// function reads \name, a base or power, and the argument, which needs no parentheses: \sin 2x is sin(2x).
func (p *latex) function() (*Node, error) {
	command := p.peek().text
	name := functions[command]
	p.pos++
	base := integer(10)
	if command == `\ln` {
		base = constant("e")
	}
	if p.at("_") {
		var err error
		if base, err = p.script(); err != nil {
			return nil, err
		}
	}
	var exp *Node
	if p.at("^") {
		var err error
		if exp, err = p.script(); err != nil {
			return nil, err
		}
	}
	switch name {
	case "gcd", "lcm", "max", "min":
		return p.listed(name)
	}
	arg, err := p.argument()
	if err != nil {
		return nil, err
	}
	if exp != nil && exp.isInteger() && exp.num.Num().Int64() == -1 &&
		(name == "sin" || name == "cos" || name == "tan") {
		name, exp = "a"+name, nil
	}
	out := call(name, arg)
	if name == "log" {
		out = call(name, arg, base)
	}
	if exp != nil {
		out = power(out, exp)
	}
	return out, nil
}

// listed reads the arguments, in parentheses or braces, of \gcd, \max and their like.
func (p *latex) listed(name string) (*Node, error) {
	open, end := "(", ")"
	if p.at(`\{`) {
		open, end = `\{`, `\}`
	}
	return p.closed(open, end, p.outsideBars(func() (*Node, error) {
		out := call(name)
		for {
			n, err := p.expr()
			if err != nil {
				return nil, err
			}
			out.args = append(out.args, n)
			if p.take(",") == "" {
				return out, nil
			}
		}
	}))
}

// argument reads (x), {x}, or a product up to the next function or sum.
func (p *latex) argument() (*Node, error) {
	if p.at("(") {
		return p.closed("(", ")", p.outsideBars(p.expr))
	}
	if p.at("{") {
		return p.group()
	}
	left, err := p.argumentFactors()
	for err == nil {
		op := p.take("*", "/")
		if op == "" {
			break
		}
		var right *Node
		if right, err = p.argumentFactors(); err == nil {
			left = map[string]func(a, b *Node) *Node{"*": product, "/": quotient}[op](left, right)
		}
	}
	return left, err
}

func (p *latex) argumentFactors() (*Node, error) {
	negative := p.take("-") != ""
	left, err := p.postfix()
	for err == nil && p.startsFactor() && functions[p.peek().text] == "" {
		var right *Node
		if right, err = p.postfix(); err == nil {
			left = product(left, right)
		}
	}
	if err == nil && negative {
		left = negate(left)
	}
	return left, err
}

// symbol reads a variable with its subscript, a constant, or a letter applied to arguments.
func (p *latex) symbol() (*Node, error) {
	name := p.peek().text
	p.pos++
	sub := ""
	if p.take("_") != "" {
		var err error
		if sub, err = p.subscript(); err != nil {
			return nil, err
		}
	}
	switch {
	case sub == "" && name == "I", sub == "" && name == "e", sub == "" && name == "pi":
		return constant(name), nil
	case sub == "" && strings.ToLower(name) == "gamma":
		return constant("EulerGamma"), nil
	}
	name = strings.ToLower(name + sub)
	if len(name) == 1 || sub != "" {
		if n, err := p.application(name); n != nil || err != nil {
			return n, err
		}
	}
	return &Node{kind: symNode, name: name, nonreal: p.nonreal}, nil
}

// subscript reads _x or _{…} as text.
func (p *latex) subscript() (string, error) {
	if p.take("{") == "" {
		t := p.peek()
		p.pos++
		if t.class != 'n' && t.class != 's' {
			return "", errSyntax
		}
		if len(t.text) > 1 {
			return "_{" + t.text + "}", nil
		}
		return "_" + t.text, nil
	}
	var text strings.Builder
	for !p.at("}") {
		if p.peek().class == 0 {
			return "", errSyntax
		}
		text.WriteString(p.peek().text)
		p.pos++
	}
	p.pos++
	if text.Len() > 1 {
		return "_{" + text.String() + "}", nil
	}
	return "_" + text.String(), nil
}

// application reads f(x), f(2) and f(a, b); a longer single argument, as in x(x+1), is a factor instead, and
// then n is nil. It looks ahead rather than tries, for trying doubles the work with each level of nesting.
func (p *latex) application(name string) (n *Node, err error) {
	if !p.at("(") || !p.argumentsFollow() {
		return nil, nil
	}
	return p.listed(name)
}

// argumentsFollow reports whether the parentheses that open here hold a single atom or have a comma in them.
func (p *latex) argumentsFollow() bool {
	depth := 0
	for i := p.pos; i < len(p.tokens); i++ {
		t := p.tokens[i]
		switch {
		case t.class != 'o':
		case t.text == "(" || t.text == "[" || t.text == "{" || t.text == `\{`:
			depth++
		case t.text == ")" || t.text == "]" || t.text == "}" || t.text == `\}`:
			if depth--; depth == 0 {
				atom := p.tokens[p.pos+1].class
				return i == p.pos+2 && (atom == 'n' || atom == 's')
			}
		case t.text == "," && depth == 1:
			return true
		}
	}
	return false
}
