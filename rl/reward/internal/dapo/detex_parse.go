package dapo

import (
	"errors"
	"strings"
)

// Limits of one reading of LaTeX as text. Text beyond them stays as it is spelled.
const (
	maxTexNesting = 100     // groups, arguments and environments inside each other
	maxTexTokens  = 1 << 16 // tokens, those read again for a missing argument included
	maxName       = 256     // bytes up to the end of an environment's name
)

var errUnreadTex = errors.New("reward: LaTeX that has no text")

// texNode is a piece of LaTeX: a run of characters, a group, a macro with its arguments, an environment, a formula or a
// special character.
type texNode struct {
	kind   texNodeKind
	text   string     // the characters, the name, the delimiter
	behind string     // the space swallowed after a macro
	given  bool       // its arguments were all there
	args   []*texNode // nil: an optional one that is missing
	nodes  []texNode  // what a group, an environment or a formula holds
}

type texNodeKind uint8

const (
	charsNode texNodeKind = iota
	groupNode
	macroNode
	environmentNode
	mathNode
	specialNode
)

// texParser reads LaTeX as pylatexenc 2 does when it tolerates errors: it skips text that does not fit and closes
// at the end everything that is open.
type texParser struct {
	text     string
	macros   map[string]texMacroText
	specials [][2]string
	math     string // delimiter of the innermost formula
	depth    int
	work     int
}

// ending says what ends a list of nodes; the zero value is the end of the text.
type ending struct{ brace, environment, math string }

// nodes reads nodes up to the ending, and says where it ends.
func (p *texParser) nodes(pos int, stop ending) (list []texNode, end int, err error) {
	if p.depth++; p.depth > maxTexNesting {
		return nil, 0, errUnreadTex
	}
	defer func() { p.depth-- }()
	var chars strings.Builder
	flush := func() {
		if chars.Len() > 0 {
			list = append(list, texNode{text: chars.String()})
			chars.Reset()
		}
	}
	for p.work < maxTexTokens {
		t := p.token(pos, stop.brace == "]", true)
		pos = t.end
		chars.WriteString(t.before)
		if t.kind == texChar {
			chars.WriteString(t.text)
			continue
		}
		flush()
		if t.kind == texEnd || stop.met(t) {
			return list, pos, nil
		}
		n, next, err := p.node(t, pos)
		if err != nil {
			return nil, 0, err
		}
		if n != nil {
			list, pos = append(list, *n), next
		}
	}
	return nil, 0, errUnreadTex
}

func (e ending) met(t texToken) bool {
	switch t.kind {
	case texClose:
		return t.text == e.brace
	case texEndEnvironment:
		return t.text == e.environment
	case texMath:
		return t.text == e.math
	}
	return false
}

// node is the node that the token before pos begins, nil if none.
func (p *texParser) node(t texToken, pos int) (n *texNode, end int, err error) {
	switch t.kind {
	case texOpen:
		return p.group(t.text, pos)
	case texMacro:
		return p.macro(t, pos)
	case texSpecial:
		return &texNode{kind: specialNode, text: t.text}, pos, nil
	case texMath:
		return p.formula(t.text, pos)
	case texBegin:
		n = &texNode{kind: environmentNode, text: t.text}
		if t.text == "array" {
			if _, _, pos, err = p.arguments("[{", pos); err != nil {
				return nil, 0, err
			}
		}
		n.nodes, end, err = p.nodes(pos, ending{environment: t.text})
		return n, end, err
	}
	return nil, pos, nil
}

func (p *texParser) group(open string, pos int) (n *texNode, end int, err error) {
	closing := "}"
	if open == "[" {
		closing = "]"
	}
	n = &texNode{kind: groupNode}
	n.nodes, end, err = p.nodes(pos, ending{brace: closing})
	return n, end, err
}

func (p *texParser) formula(open string, pos int) (n *texNode, end int, err error) {
	closing := open
	switch open {
	case `\(`:
		closing = `\)`
	case `\[`:
		closing = `\]`
	case `\)`, `\]`:
		return nil, pos, nil
	}
	outer := p.math
	p.math = open
	defer func() { p.math = outer }()
	n = &texNode{kind: mathNode, text: open}
	n.nodes, end, err = p.nodes(pos, ending{math: closing})
	return n, end, err
}

func (p *texParser) macro(t texToken, pos int) (n *texNode, end int, err error) {
	n = &texNode{kind: macroNode, text: t.text, behind: t.behind}
	n.args, n.given, end, err = p.arguments(p.macros[t.text].args, pos)
	return n, end, err
}

// arguments reads those that the letters of spec name: { one that must be there, [ an optional one, * a star. Where
// the text ends before them there are none, and reading continues at pos.
func (p *texParser) arguments(spec string, pos int) (args []*texNode, given bool, end int, err error) {
	end = pos
	for _, kind := range spec {
		var arg *texNode
		t := p.token(end, kind == '[', kind == '*')
		switch {
		case t.kind == texEnd && kind != '[':
			return nil, false, pos, nil
		case kind == '{':
			arg, end, err = p.expression(t, end)
		case kind == '*' && t.kind == texChar && t.text == "*":
			arg, end = &texNode{text: "*"}, t.end
		case kind == '[' && t.kind == texOpen && t.text == "[" && (t.before == "" || spec != "*["):
			arg, end, err = p.group("[", t.end)
		}
		if err != nil {
			return nil, false, 0, err
		}
		args = append(args, arg)
	}
	return args, true, end, nil
}

// expression is one argument: a group, or just the next token.
func (p *texParser) expression(t texToken, pos int) (n *texNode, end int, err error) {
	switch t.kind {
	case texOpen:
		return p.group(t.text, t.end)
	case texClose: // left for whom it closes
		return &texNode{}, t.end - len(t.text), nil
	case texMacro:
		if t.text == "end" {
			return &texNode{}, t.end - len(`\end`) - len(t.behind), nil
		}
		return &texNode{kind: macroNode, text: t.text, behind: t.behind}, t.end, nil
	case texSpecial:
		return &texNode{kind: specialNode, text: t.text}, t.end, nil
	case texMath:
		if t.text[0] == '\\' {
			return &texNode{kind: macroNode, text: t.text}, t.end, nil
		}
	}
	return &texNode{text: t.text}, t.end, nil
}
