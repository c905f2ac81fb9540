package pattern

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// Each calls visit with the matches of p in s from left to right until visit returns false: loc[0:2] is the match as
// byte offsets, loc[2*i:2*i+2] group i, -1 if it did not take part. loc is overwritten by the next match. A match may
// begin where the previous one ended.
func (p *Pattern) Each(s string, visit func(loc []int) bool) {
	m := newMatcher(p.program, s)
	for from := 0; from <= len(s); {
		if !m.find(from) || !visit(m.caps) {
			return
		}
		from = m.caps[1]
		if m.caps[0] == m.caps[1] {
			_, n := utf8.DecodeRuneInString(s[from:])
			from += max(n, 1)
		}
	}
}

// bits is a set of numbers.
type bits []uint64

func newBits(n int) bits             { return make(bits, (n+63)/64) }
func (b bits) has(i int) bool        { return b[i/64]>>(i%64)&1 != 0 }
func (b bits) set(i int)             { b[i/64] |= 1 << (i % 64) }
func (b bits) clear(i int)           { b[i/64] &^= 1 << (i % 64) }
func (m *matcher) id(pc, at int) int { return at*m.nAlts + int(m.alts[pc]) }

// matcher is the state of a program on a text.
type matcher struct {
	*program
	s      string
	open   bits // choices in progress: the second alternative, or its continuation
	failed bits // choices that led to no match
	good   bits // in a lookaround: choices that led to a match
	caps   []int
	stack  []frame

	// A choice that is reached again while it is in progress is an empty loop and counts as failed. Choices that
	// failed because of it may succeed when they are reached from elsewhere, so they are forgotten once the match is
	// found.
	looped  bool
	forget  []int
	bodies  []*matcher // of the checks
	known   []bits     // by check: the places where the result is known
	answers []bits
	steps   int
}

// frame is an entry of the backtracking stack: a choice, or the old value of a slot.
type frame struct {
	kind frameKind
	n    int32 // an instruction, or a slot
	at   int
}

type frameKind uint8

const (
	otherBranch frameKind = iota // the second alternative must still be tried
	bothTried
	oldSlot
)

func newMatcher(p *program, s string) *matcher {
	n := p.nAlts * (len(s) + 1)
	m := &matcher{program: p, s: s, open: newBits(n), failed: newBits(n), caps: make([]int, max(2, p.nCap))}
	m.bodies, m.known, m.answers = make([]*matcher, len(p.checks)), make([]bits, len(p.checks)),
		make([]bits, len(p.checks))
	return m
}

// find looks for the first match that starts at from or later.
func (m *matcher) find(from int) bool {
	for at := from; at <= len(m.s); {
		if m.first.may(m.s[at:]) {
			if end, ok := m.match(at); ok {
				m.caps[0], m.caps[1] = at, end
				return true
			}
		}
		if at == len(m.s) {
			break
		}
		_, n := utf8.DecodeRuneInString(m.s[at:])
		at += n
	}
	return false
}

// match matches at a place and returns the end of the match.
func (m *matcher) match(at int) (int, bool) {
	m.stack = m.stack[:0]
	for i := range m.caps {
		m.caps[i] = -1
	}
	for pc, ok := m.start, true; ; {
		if ok {
			m.steps++
			inst := &m.insts[pc]
			switch inst.Op {
			case syntax.InstMatch:
				m.settle()
				return at, true
			case syntax.InstAlt, syntax.InstAltMatch:
				if m.good != nil && m.good.has(m.id(pc, at)) {
					m.settle()
					return at, true
				}
				ok = m.choose(pc, at)
			case syntax.InstCapture:
				m.stack = append(m.stack, frame{oldSlot, int32(inst.Arg), m.caps[inst.Arg]})
				m.caps[inst.Arg] = at
			case syntax.InstEmptyWidth:
				ok = m.empty(syntax.EmptyOp(inst.Arg), at)
			case syntax.InstNop:
			default:
				at, ok = m.rune(inst, at)
			}
			pc = int(inst.Out)
			continue
		}
		if pc, at, ok = m.back(); !ok {
			return 0, false
		}
	}
}

// choose begins a choice unless it is known to fail.
func (m *matcher) choose(pc, at int) bool {
	id := m.id(pc, at)
	if m.open.has(id) {
		m.looped = true
		return false
	}
	if m.failed.has(id) {
		return false
	}
	m.open.set(id)
	m.stack = append(m.stack, frame{otherBranch, int32(pc), at})
	return true
}

// back returns to the last choice that has an alternative left.
func (m *matcher) back() (pc, at int, ok bool) {
	for len(m.stack) > 0 {
		f := &m.stack[len(m.stack)-1]
		switch f.kind {
		case otherBranch:
			f.kind = bothTried
			return int(m.insts[f.n].Arg), f.at, true
		case bothTried:
			id := m.id(int(f.n), f.at)
			m.open.clear(id)
			m.failed.set(id)
			if m.looped {
				m.forget = append(m.forget, id)
			}
		case oldSlot:
			m.caps[f.n] = f.at
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
	m.looped, m.forget = false, m.forget[:0]
	return 0, 0, false
}

// settle removes the choices that led to a match from the failed ones.
func (m *matcher) settle() {
	for _, f := range m.stack {
		if f.kind != oldSlot {
			id := m.id(int(f.n), f.at)
			m.open.clear(id)
			if m.good != nil {
				m.good.set(id)
			}
		}
	}
	for _, id := range m.forget {
		m.failed.clear(id)
	}
	m.looped, m.forget = false, m.forget[:0]
}

// rune matches a character, or evaluates a check, which consumes none.
func (m *matcher) rune(inst *syntax.Inst, at int) (int, bool) {
	if inst.Op == syntax.InstRune1 && inst.Rune[0] >= firstCheck {
		if inst.Rune[0] == filler {
			return at, true
		}
		return at, m.holds(int(inst.Rune[0]-firstCheck), at)
	}
	if at == len(m.s) || inst.Op == syntax.InstFail {
		return at, false
	}
	r, n := rune(m.s[at]), 1
	if r >= utf8.RuneSelf {
		r, n = utf8.DecodeRuneInString(m.s[at:])
	}
	switch inst.Op {
	case syntax.InstRuneAny:
		return at + n, true
	case syntax.InstRuneAnyNotNL:
		return at + n, r != '\n'
	case syntax.InstRune1:
		return at + n, r == inst.Rune[0]
	}
	return at + n, inst.MatchRune(r)
}

func (m *matcher) empty(op syntax.EmptyOp, at int) bool {
	start, end := at == 0, at == len(m.s)
	return (op&syntax.EmptyBeginText == 0 || start) && (op&syntax.EmptyEndText == 0 || end) &&
		(op&syntax.EmptyBeginLine == 0 || start || m.s[at-1] == '\n') &&
		(op&syntax.EmptyEndLine == 0 || end || m.s[at] == '\n')
}

// holds reports whether a check holds at a place.
func (m *matcher) holds(i, at int) bool {
	c := &m.checks[i]
	switch c.kind {
	case lastLine:
		return at == len(m.s) || at == len(m.s)-1 && m.s[at] == '\n'
	case boundary:
		before, _ := utf8.DecodeLastRuneInString(m.s[:at])
		after, _ := utf8.DecodeRuneInString(m.s[at:])
		return (m.inWord(before) != m.inWord(after)) != c.not
	}
	if m.bodies[i] == nil {
		m.bodies[i] = newMatcher(c.body, m.s)
		m.bodies[i].good = newBits(c.body.nAlts * (len(m.s) + 1))
		m.known[i], m.answers[i] = newBits(len(m.s)+1), newBits(len(m.s)+1)
	}
	if !m.known[i].has(at) {
		m.known[i].set(at)
		if m.around(i, at) {
			m.answers[i].set(at)
		}
	}
	return m.answers[i].has(at) != c.not
}

func (m *matcher) inWord(r rune) bool {
	return word(r) || unicode.Is(unicode.Join_Control, r)
}

// around matches the body of a lookaround.
func (m *matcher) around(i, at int) bool {
	from := at
	for range m.checks[i].width {
		if from == 0 {
			return false
		}
		_, n := utf8.DecodeLastRuneInString(m.s[:from])
		from -= n
	}
	_, ok := m.bodies[i].match(from)
	return ok
}
