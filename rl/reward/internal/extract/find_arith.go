package extract

import (
	"strings"
	"unicode"
)

func isOperator(c rune) bool { return strings.ContainsRune(operatorSigns, c) }

// inArithmetic is `[\d.\s+\-*/×^()÷]`.
func inArithmetic(c rune) bool {
	return unicode.IsDigit(c) || c == '.' || unicode.IsSpace(c) || isOperator(c)
}

// expression is arithmetic: `-?\(?-?\d`, then characters of arithmetic of which one but the last is an operator, and a
// mark after them. The longest that works counts. Its end depends only on the run of such characters, so each run
// is searched once.
func (p *plain) expression(t *scanned, i int, f *found) bool {
	return t.behind(i, func(i int) bool {
		digit := i
		for _, c := range "-(-" {
			if t.at(digit) == c {
				digit++
			}
		}
		if !t.digit(digit) {
			return false
		}
		run := t.pass(&t.anys, digit+1, inArithmetic)
		sign := t.pass(&t.ops, digit+1, func(c rune) bool { return !isOperator(c) })
		if run <= digit+1 || sign+2 > run {
			return false
		}
		p.longest(t, run)
		if p.last < sign+2 {
			return false
		}
		f.end, f.groups = p.end, append(f.groups[:0], group{"expr", i, p.last})
		return true
	})
}

// longest finds the last place in a run of arithmetic at which an expression can end.
func (p *plain) longest(t *scanned, run int) {
	if p.run == run {
		return
	}
	p.run, p.last = run, -1
	for at := run; at > 0 && (at == run || inArithmetic(t.r[at])); at-- {
		if end, ok := p.closes(t, at); ok {
			p.last, p.end = at, end
			return
		}
	}
}

// closes is `(?:\*\*)?(?:[.,:\s)$]|$)` and what must follow.
func (p *plain) closes(t *scanned, i int) (end int, ok bool) {
	if t.follows(i, "**") {
		if end, ok = p.mark(t, i+2); ok {
			return end, true
		}
	}
	return p.mark(t, i)
}

func (p *plain) mark(t *scanned, i int) (end int, ok bool) {
	if t.space(i) || i < len(t.r) && strings.ContainsRune(".,:)$", t.r[i]) {
		if end, ok = p.follow(t, i+1); ok {
			return end, true
		}
	}
	if i == len(t.r) || i == len(t.r)-1 && t.r[i] == '\n' {
		return p.follow(t, i)
	}
	return i, false
}
