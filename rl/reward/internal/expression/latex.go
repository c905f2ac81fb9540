package expression

import (
	"regexp"
	"slices"
	"strings"
)

var groupedDigits = regexp.MustCompile(`^\s*-?\d{1,3}(,\d{3})+(\.\d+)?\s*$`)

// looksComplex matches what makes math_verify take the variables of an expression for complex ones.
var looksComplex = regexp.MustCompile(`\\mathbb\{C\}|\bi\b|\\imath\b|\\(?:text|mathrm)\{i\}|\\det|` +
	`\\operatorname\{(?:tr|rank|Re|Im)\}|\\text\{(?:rank|Re|Im)\}|\\(?:arg|Re|Im)\{`)

// LaTeX reads a normalised LaTeX expression: elements parted by commas and semicolons, each a set, an
// interval, a relation or an expression. The rules, and the surprises among them (2 3 is five, 1/2x is
// 1/(2x), x(2) is a function), follow latex2sympy2_extended 1.11.
func LaTeX(text string) (*Node, error) {
	if groupedDigits.MatchString(text) {
		return Number(strings.NewReplacer(",", "", " ", "").Replace(strings.TrimSpace(text)))
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	if len(tokens) > maxTokens {
		return nil, errSyntax
	}
	p := &latex{tokens: tokens, nonreal: looksComplex.MatchString(text), elements: map[int]parsed{}}
	groups, err := p.elementList()
	if err == nil && p.pos < len(p.tokens) {
		err = errSyntax
	}
	if err != nil {
		return nil, err
	}
	return setOrTuples(assigned(groups)), nil
}

// maxTokens bounds an expression. Long sums and products take time in proportion to its square.
const maxTokens = 2500

// parsed is the result of a parse from one position, kept so that trying again costs nothing.
type parsed struct {
	nodes []*Node
	end   int
	err   error
}

type latex struct {
	tokens   []token
	pos      int
	depth    int
	inBars   int // open | … | around the current position
	nonreal  bool
	elements map[int]parsed
}

func (p *latex) peek() token {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos]
	}
	return token{}
}

// at reports whether the next token is one of the marks.
func (p *latex) at(marks ...string) bool {
	t := p.peek()
	return t.class == 'o' && slices.Contains(marks, t.text)
}

// take consumes the next token if it is one of the marks, and returns it.
func (p *latex) take(marks ...string) string {
	if !p.at(marks...) {
		return ""
	}
	p.pos++
	return p.tokens[p.pos-1].text
}

// closed runs inner between the marks.
func (p *latex) closed(open, end string, inner func() (*Node, error)) (*Node, error) {
	if p.take(open) == "" {
		return nil, errSyntax
	}
	n, err := inner()
	if err == nil && p.take(end) == "" {
		err = errSyntax
	}
	return n, err
}

// elementList reads elements: groups parted by semicolons of elements parted by commas.
func (p *latex) elementList() ([][]*Node, error) {
	groups := [][]*Node{nil}
	for {
		nodes, err := p.element()
		if err != nil {
			return nil, err
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], nodes...)
		switch p.take(",", ";") {
		case ";":
			groups = append(groups, nil)
		case "":
			return groups, nil
		}
	}
}

// setOrTuples is one element as itself, several as a set, groups of several as a set of tuples.
func setOrTuples(groups [][]*Node) *Node {
	if len(groups) == 1 {
		if len(groups[0]) == 1 {
			return groups[0][0]
		}
		return finiteSet(groups[0])
	}
	single := true
	for _, g := range groups {
		single = single && len(g) == 1
	}
	var all []*Node
	for _, g := range groups {
		if single {
			all = append(all, g[0])
		} else {
			all = append(all, tuple(g))
		}
	}
	return finiteSet(all)
}

// assigned reads x = 1, 2 as x = {1, 2}: a variable, one equals sign and no relation after it.
func assigned(groups [][]*Node) [][]*Node {
	first := groups[0][0]
	if first.kind != relNode || first.name != "=" || first.args[0].kind != symNode || len(groups) == 1 &&
		len(groups[0]) == 1 {
		return groups
	}
	values := make([][]*Node, len(groups))
	for i, g := range groups {
		for j, n := range g {
			if i+j > 0 && n.isRelation() {
				return groups
			}
			if i+j == 0 {
				n = first.args[1]
			}
			values[i] = append(values[i], n)
		}
	}
	return [][]*Node{{relation("=", first.args[0], setOrTuples(values))}}
}

// element reads one element, which ± makes two.
func (p *latex) element() ([]*Node, error) {
	start := p.pos
	if r, ok := p.elements[start]; ok {
		p.pos = r.end
		return r.nodes, r.err
	}
	if p.depth > maxDepth {
		return nil, errSyntax
	}
	p.depth++
	nodes, err := p.setElement()
	if err != nil || !p.atEnd() {
		p.pos = start
		nodes, err = p.relationElement()
	}
	p.depth--
	p.elements[start] = parsed{nodes, p.pos, err}
	return nodes, err
}

func (p *latex) atEnd() bool {
	return p.pos >= len(p.tokens) || p.at(",", ";", ")", "]", "}", `\}`)
}

func (p *latex) setElement() ([]*Node, error) {
	left, err := p.set()
	if err == nil && p.take("=", `\in`) != "" {
		var right *Node
		if right, err = p.set(); err == nil {
			left = relation("=", left, right)
		}
	}
	return []*Node{left}, err
}

// relationElement reads expressions chained by relations, or a ± b.
func (p *latex) relationElement() ([]*Node, error) {
	left, err := p.plusMinus()
	if err != nil || len(left) > 1 {
		return left, err
	}
	n := left[0]
	for {
		op := p.take("=", "!=", "<", "<=", ">", ">=", `\approx`, `\in`)
		if op == "" {
			return []*Node{n}, nil
		}
		right, err := p.relationSide(op)
		if err != nil {
			return nil, err
		}
		n = chain(n, op, right)
	}
}

// relationSide reads what follows a relation: a set, the two values of ±, or an expression.
func (p *latex) relationSide(op string) (*Node, error) {
	start := p.pos
	if op == "=" || op == `\in` {
		if n, err := p.set(); err == nil && p.atEnd() {
			return n, nil
		}
		p.pos = start
	}
	if op == `\in` {
		return nil, errSyntax
	}
	nodes, err := p.plusMinus()
	if err != nil {
		return nil, err
	}
	return setOrTuples([][]*Node{nodes}), nil
}

func chain(left *Node, op string, right *Node) *Node {
	switch {
	case op == `\approx` && left.onlySymbols():
		return right
	case op == `\approx`:
		return left
	case op == `\in`:
		op = "="
	}
	switch left.kind {
	case relNode:
		return &Node{kind: chainNode, args: []*Node{left, relation(op, left.args[1], right)}}
	case chainNode:
		last := left.args[len(left.args)-1]
		args := append(left.args[:len(left.args):len(left.args)], relation(op, last.args[1], right))
		return &Node{kind: chainNode, args: args}
	}
	return relation(op, left, right)
}

func (p *latex) plusMinus() ([]*Node, error) {
	if p.take(`\pm`) != "" {
		n, err := p.expr()
		if err != nil {
			return nil, err
		}
		return []*Node{negate(n), n}, nil
	}
	left, err := p.expr()
	if err != nil || p.take(`\pm`) == "" {
		return []*Node{left}, err
	}
	right, err := p.expr()
	if err != nil {
		return nil, err
	}
	return []*Node{sum(left, right), sum(left, negate(right))}, nil
}
