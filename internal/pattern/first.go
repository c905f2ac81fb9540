package pattern

import (
	"regexp/syntax"
	"unicode/utf8"
)

// firsts is the set of bytes with which a match can begin, for a quick check.
type firsts struct {
	ascii [utf8.RuneSelf]bool
	other bool // a character beyond ASCII
	empty bool // a match may be empty
}

func (f *firsts) may(s string) bool {
	switch {
	case f.empty:
		return true
	case s == "":
		return false
	case s[0] < utf8.RuneSelf:
		return f.ascii[s[0]]
	}
	return f.other
}

// firsts finds the instructions that can match the first character.
func (p *program) firsts() (f firsts) {
	seen := make([]bool, len(p.insts))
	var visit func(pc int)
	visit = func(pc int) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		inst := &p.insts[pc]
		switch inst.Op {
		case syntax.InstMatch:
			f.empty = true
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(int(inst.Out))
			visit(int(inst.Arg))
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			visit(int(inst.Out))
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if inst.Op == syntax.InstRune1 && inst.Rune[0] >= firstCheck {
				visit(int(inst.Out))
				return
			}
			f.other = true
			for r := range f.ascii {
				f.ascii[r] = f.ascii[r] || inst.MatchRune(rune(r))
			}
		}
	}
	visit(p.start)
	return f
}
