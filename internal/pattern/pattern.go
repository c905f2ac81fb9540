// Package pattern matches regular expressions with lookahead and lookbehind in time linear in the text.
//
// Tokenizer files and answers are untrusted, and some expressions make a backtracking engine run practically forever.
// A time limit would stop that, but then results would depend on the machine. This engine backtracks in Perl's order,
// but remembers for each pair of a program position and a text position that it failed there, so that it visits each
// pair once: the work is at most the program's length times the text's length.
//
// Source: Davis, Servant and Lee, "Using Selective Memoization to Defeat Regular Expression Denial of Service", IEEE
// S&P 2021.
//
// Expressions have the syntax of .NET and Oniguruma: \s, \d, \w, \b and \p{…} follow Unicode 16, as Oniguruma in
// Hugging Face's tokenizers does (internal/charclass), case folding the Unicode of package unicode, and $ also matches
// before a final newline. Package regexp/syntax parses them; lookarounds are cut out first and appear in the program as
// a rune that no text contains. Groups in lookarounds take no part in a match. Backreferences, atomic groups and
// lookbehind of varying length are refused, since they have no such bound.
package pattern

import (
	"fmt"
	"regexp/syntax"
	"strings"
)

// Pattern is a compiled regular expression. It is immutable and safe for concurrent use.
type Pattern struct {
	*program
	names []string // of the groups; names[0] is the whole
}

// program is a compiled expression or the body of a lookaround.
type program struct {
	insts  []syntax.Inst
	start  int
	alts   []int32 // by instruction: the number of a choice, -1 for any other
	nAlts  int
	nCap   int // slots
	first  firsts
	checks []check
}

// checkKind is the kind of a condition that consumes no text.
type checkKind uint8

const (
	ahead    checkKind = iota // (?=x), (?!x)
	behind                    // (?<=x), (?<!x)
	boundary                  // \b, \B
	lastLine                  // $
)

// check is a condition at a place of the text.
type check struct {
	kind  checkKind
	not   bool
	body  *program // of ahead and behind
	width int      // of behind, in characters
}

// The runes that represent checks in a program; filler follows each, so that alternatives never merge into one class.
const (
	firstCheck = 0xF0000
	filler     = 0xFFFFD
)

// maxExpression limits the length of an expression; regexp/syntax limits its repetitions and nesting.
const maxExpression = 1 << 14

// maxInstructions limits the program, and so the work and the memory (at most a quarter of a byte per instruction) for
// each byte of text. The split patterns in use have less than 200 instructions.
const maxInstructions = 2000

// Compile reads an expression.
func Compile(expr string) (*Pattern, error) {
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes; the limit is %d", len(expr), maxExpression)
	}
	for _, r := range expr {
		if r >= firstCheck {
			return nil, fmt.Errorf("the expression has the private character %U", r)
		}
	}
	p, tree, err := compile(expr, 0)
	if err != nil {
		return nil, err
	}
	return &Pattern{p, tree.CapNames()}, nil
}

// MustCompile is Compile for expressions of the program itself.
func MustCompile(expr string) *Pattern {
	p, err := Compile(expr)
	if err != nil {
		panic(fmt.Sprintf("pattern: %s: %v", expr, err))
	}
	return p
}

func compile(expr string, depth int) (*program, *syntax.Regexp, error) {
	if depth > 8 {
		return nil, nil, fmt.Errorf("lookarounds nest more than 8 deep")
	}
	t := &translator{src: expr, depth: depth, flags: []string{""}}
	text, err := t.translate()
	if err != nil {
		return nil, nil, err
	}
	tree, err := syntax.Parse(text, syntax.PerlX|syntax.UnicodeGroups|syntax.OneLine)
	if err != nil {
		return nil, nil, err
	}
	code, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, nil, err
	}
	if len(code.Inst) > maxInstructions {
		return nil, nil, fmt.Errorf("the expression has %d instructions; the limit is %d", len(code.Inst),
			maxInstructions)
	}
	p := &program{insts: code.Inst, start: code.Start, checks: t.checks, nCap: code.NumCap,
		alts: make([]int32, len(code.Inst))}
	for i := range p.insts {
		p.alts[i] = -1
		if op := p.insts[i].Op; op == syntax.InstAlt || op == syntax.InstAltMatch {
			p.alts[i] = int32(p.nAlts)
			p.nAlts++
		}
	}
	p.first = p.firsts()
	return p, tree, nil
}

// width is the number of characters that re matches, if it is always the same.
func width(re *syntax.Regexp) (n int, fixed bool) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r < firstCheck {
				n++
			}
		}
		return n, true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, true
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText:
		return 0, true
	case syntax.OpCapture:
		return width(re.Sub[0])
	case syntax.OpRepeat:
		one, fixed := width(re.Sub[0])
		return one * re.Min, fixed && re.Min == re.Max
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			one, fixed := width(sub)
			if !fixed {
				return 0, false
			}
			n += one
		}
		return n, true
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			one, fixed := width(sub)
			if !fixed || i > 0 && one != n {
				return 0, false
			}
			n = one
		}
		return n, true
	}
	return 0, false
}

// Names returns the names of the groups in order; the whole match and groups without a name have "".
func (p *Pattern) Names() []string { return p.names }

// Replace replaces each match by the result of with, literally. with gets the offsets of the match and its groups in
// the form of Each.
func (p *Pattern) Replace(s string, with func(loc []int) string) string {
	var out strings.Builder
	done := 0
	p.Each(s, func(loc []int) bool {
		out.WriteString(s[done:loc[0]])
		out.WriteString(with(loc))
		done = loc[1]
		return true
	})
	if done == 0 && out.Len() == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}
