package jinja

import (
	"fmt"
	"slices"
)

// parser reads tokens by recursive descent. depth is how deep the syntax
// nests, loops how many loops are open around the current statement.
type parser struct {
	tokens []token
	pos    int
	depth  int
	loops  int
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != kindEOF {
		p.pos++
	}
	return t
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}

// is reports whether the current token is the operator or the name text.
func (p *parser) is(k kind, text string) bool {
	t := p.peek()
	return t.kind == k && t.text == text
}

// skip passes over the operator or name text if it is the current token.
func (p *parser) skip(k kind, text string) bool {
	if !p.is(k, text) {
		return false
	}
	p.pos++
	return true
}

// describe names a token for an error.
func (t token) describe() string {
	switch t.kind {
	case kindEOF:
		return "the end of the template"
	case kindEndOut:
		return "}}"
	case kindEndBlock:
		return "%}"
	case kindOutput, kindBlock, kindText:
		return "the end of the tag"
	case kindString:
		return "a string"
	}
	return "'" + t.text + "'"
}

func (p *parser) expect(k kind, text string) error {
	if t := p.peek(); t.kind != k || t.text != text {
		want := token{kind: k, text: text}
		return p.fail(t.line, "%s where %s is needed", t.describe(), want.describe())
	}
	p.pos++
	return nil
}

func (p *parser) identifier() (string, error) {
	t := p.next()
	if t.kind != kindName {
		return "", p.fail(t.line, "%s where a name is needed", t.describe())
	}
	return t.text, nil
}

// deeper counts a level of nesting; the caller defers p.shallower().
func (p *parser) deeper() error {
	p.depth++
	if p.depth > maxNesting {
		return p.fail(p.peek().line, "the template nests more than %d deep", maxNesting)
	}
	return nil
}

func (p *parser) shallower() { p.depth-- }

// template reads all tokens.
func (p *parser) template() ([]stmt, error) {
	body, end, err := p.body()
	if err != nil {
		return nil, err
	}
	if end.kind != kindEOF {
		return nil, p.fail(end.line, "'%s' has nothing to end", end.text)
	}
	return body, nil
}

// body reads statements until a block tag named in ends, whose name it returns
// and passes over, or the end of the template.
func (p *parser) body(ends ...string) (body []stmt, end token, err error) {
	if err := p.deeper(); err != nil {
		return nil, end, err
	}
	defer p.shallower()
	for {
		t := p.next()
		switch t.kind {
		case kindEOF:
			if len(ends) > 0 {
				return nil, t, p.fail(t.line, "the template ends where %v is needed", ends)
			}
			return body, t, nil
		case kindText:
			body = append(body, textStmt{t.text})
			continue
		case kindOutput:
			e, err := p.tuple(true)
			if err != nil {
				return nil, t, err
			}
			if err := p.expect(kindEndOut, ""); err != nil {
				return nil, t, err
			}
			body = append(body, outputStmt{e, t.line})
			continue
		}
		tag := p.next()
		if tag.kind == kindName && slices.Contains(ends, tag.text) {
			return body, tag, nil
		}
		s, err := p.statement(tag)
		if err != nil {
			return nil, tag, err
		}
		body = append(body, s)
	}
}

// block reads the rest of a tag and the body up to {% end %}.
func (p *parser) block(end string) ([]stmt, error) {
	if err := p.expect(kindEndBlock, ""); err != nil {
		return nil, err
	}
	body, _, err := p.body(end)
	if err != nil {
		return nil, err
	}
	return body, p.expect(kindEndBlock, "")
}

// closed reads the block of a statement that is a separate function in Jinja2,
// so that no break inside reaches a loop outside.
func (p *parser) closed(end string) ([]stmt, error) {
	saved := p.loops
	p.loops = 0
	body, err := p.block(end)
	p.loops = saved
	return body, err
}

// statement reads the statement of a block tag whose name is tag.
func (p *parser) statement(tag token) (stmt, error) {
	if tag.kind != kindName {
		return nil, p.fail(tag.line, "%s where the name of a tag is needed", tag.describe())
	}
	switch tag.text {
	case "for":
		return p.forLoop(tag.line)
	case "if":
		return p.ifElse()
	case "set":
		return p.set(tag.line)
	case "macro":
		return p.macro(tag.line)
	case "call":
		return p.callBlock(tag.line)
	case "with":
		return p.with(tag.line)
	case "filter":
		return p.filterBlock(tag.line)
	case "generation":
		body, err := p.closed("endgeneration")
		return generationStmt{body}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.fail(tag.line, "'%s' outside a loop", tag.text)
		}
		jump := errBreak
		if tag.text == "continue" {
			jump = errContinue
		}
		return jumpStmt{jump}, p.expect(kindEndBlock, "")
	case "extends", "block", "include", "import", "from", "autoescape", "do", "trans", "debug":
		return nil, p.fail(tag.line, "tag '%s' is not used in chat templates and not supported", tag.text)
	}
	return nil, p.fail(tag.line, "unknown tag '%s'", tag.text)
}
