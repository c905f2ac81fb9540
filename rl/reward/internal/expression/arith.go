package expression

import (
	"errors"
	"math/big"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

var errSyntax = errors.New("reward: not an expression")

// maxDepth bounds nesting, so that no text can exhaust the stack.
const maxDepth = 100

// maxDigits is Python's limit on the digits of an integer read from text.
const maxDigits = 4300

// Arithmetic reads Python's arithmetic: numbers, + - * / // **, signs and parentheses; ^ means **.
func Arithmetic(text string) (*Node, error) {
	if len(text) > 2*maxDigits {
		return nil, errSyntax
	}
	p := &arithmetic{text: strings.NewReplacer("\n", " ", "^", "**").Replace(text)}
	n, err := p.sum(0)
	if err == nil && p.peek() != "" {
		err = errSyntax
	}
	return n, err
}

// Value is the value of what Arithmetic reads, to the precision of a float64 if it is not rational; nil
// if it has no real value.
func Value(text string) *big.Rat {
	n, err := Arithmetic(text)
	if err != nil {
		return nil
	}
	v, err := evaluate(n, nil)
	switch {
	case err != nil:
		return nil
	case v.rat != nil:
		return v.rat
	case imag(v.approx) != 0:
		return nil
	}
	return new(big.Rat).SetFloat64(real(v.approx))
}

type arithmetic struct {
	text string
	pos  int
	ops  int
}

// peek returns the next token without consuming it, "" at the end.
func (p *arithmetic) peek() string {
	for p.pos < len(p.text) && strings.ContainsRune(" \t\r\f\v", rune(p.text[p.pos])) {
		p.pos++
	}
	rest := p.text[p.pos:]
	switch {
	case rest == "":
		return ""
	case strings.HasPrefix(rest, "**"), strings.HasPrefix(rest, "//"):
		return rest[:2]
	case rest[0] == '.' || tex.IsDigit(rest[0]):
		end := 0
		for end < len(rest) && tex.IsDigit(rest[end]) {
			end++
		}
		if end < len(rest) && rest[end] == '.' {
			for end++; end < len(rest) && tex.IsDigit(rest[end]); end++ {
			}
		}
		return rest[:end]
	}
	return rest[:1]
}

func (p *arithmetic) take(tokens ...string) string {
	next := p.peek()
	for _, t := range tokens {
		if next == t && t != "" {
			p.pos += len(t)
			if p.ops++; p.ops > maxTokens { // nothing more is read, and what is left over is an error
				return ""
			}
			return t
		}
	}
	return ""
}

func (p *arithmetic) sum(depth int) (*Node, error) {
	left, err := p.product(depth)
	for err == nil {
		op := p.take("+", "-")
		if op == "" {
			break
		}
		var right *Node
		if right, err = p.product(depth); err == nil {
			if op == "-" {
				right = product(integer(-1), right)
			}
			left = sum(left, right)
		}
	}
	return left, err
}

func (p *arithmetic) product(depth int) (*Node, error) {
	left, err := p.unary(depth)
	for err == nil {
		op := p.take("*", "//", "/")
		if op == "" {
			break
		}
		var right *Node
		if right, err = p.unary(depth); err != nil {
			break
		}
		switch op {
		case "*":
			left = product(left, right)
		case "/":
			left = product(left, power(right, integer(-1)))
		default:
			left = call("floor", product(left, power(right, integer(-1))))
		}
	}
	return left, err
}

func (p *arithmetic) unary(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, errSyntax
	}
	if op := p.take("+", "-"); op != "" {
		n, err := p.unary(depth + 1)
		if err == nil && op == "-" {
			n = negate(n)
		}
		return n, err
	}
	base, err := p.atom(depth)
	if err != nil || p.take("**") == "" {
		return base, err
	}
	exp, err := p.unary(depth + 1)
	if err != nil {
		return nil, err
	}
	return power(base, exp), nil
}

func (p *arithmetic) atom(depth int) (*Node, error) {
	if p.take("(") != "" {
		n, err := p.sum(depth + 1)
		if err == nil && p.take(")") == "" {
			err = errSyntax
		}
		return n, err
	}
	token := p.peek()
	if token == "" || token == "." || !(token[0] == '.' || tex.IsDigit(token[0])) {
		return nil, errSyntax
	}
	if len(token) > 1 && token[0] == '0' && !strings.Contains(token, ".") && strings.Trim(token, "0") != "" {
		return nil, errSyntax // Python refuses 007
	}
	p.pos += len(token)
	return Number(token)
}

// Number reads an optional sign, digits and an optional decimal part.
func Number(text string) (*Node, error) {
	if len(text) > maxDigits {
		return nil, errSyntax
	}
	r, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "."))
	if !ok || strings.ContainsAny(text, "/eEpPxX_") {
		return nil, errSyntax
	}
	return &Node{kind: numNode, num: r, decimal: strings.Contains(text, ".")}, nil
}
