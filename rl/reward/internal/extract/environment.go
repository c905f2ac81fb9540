package extract

// environment is an environment's content, [from, to), and its end.
type environment struct {
	name          string
	from, to, end int
}

func (t *scanned) startsEnvironment(i int) bool {
	switch t.r[i] {
	case '$', '\\', '-':
		return true
	}
	return t.at(i+1) == '[' && t.space(i)
}

// environment reads the environment that begins at i. With boxed set its content must have a box in it.
func (t *scanned) environment(i int, boxed bool) (e environment, ok bool) {
	switch c := t.at(i); {
	case c == '$':
		e, ok = t.dollarSigns(i)
	case c == '\\' && t.at(i+1) == '[':
		e = environment{name: "Bracket", from: i + 2, to: t.brackets.next(i + 2)}
		e.end, ok = e.to+2, t.closes(i, e)
	case c == '\\' && t.at(i+1) == '(':
		e = environment{name: "Parenthesis", from: i + 2, to: t.parentheses.next(i + 2)}
		e.end, ok = e.to+2, t.closes(i, e) && t.at(e.to) != '\n'
	case (c == '\\' || c == '-') && !boxed:
		e, ok = t.fraction(i)
	case t.at(i+1) == '[' && t.space(i):
		e = environment{name: "Square", from: i + 2, to: t.squares.next(i + 2)}
		e.end, ok = e.to+2, e.to > e.from && t.at(e.to) == ']' && t.space(e.to+1)
	}
	return e, ok && (!boxed || t.boxIn(e))
}

// closes reports whether an environment between marks with a backslash ends there: neither mark has another before it.
func (t *scanned) closes(i int, e environment) bool {
	return e.to > e.from && t.at(i-1) != '\\' && t.at(e.to-1) != '\\'
}

// dollarSigns reads $…$ on one line, and $$…$$.
func (t *scanned) dollarSigns(i int) (e environment, ok bool) {
	if t.at(i+1) == '$' {
		e = environment{name: "DoubleDollar", from: i + 2, to: t.doubleDollars.next(i + 2)}
		e.end = e.to + 2
		return e, t.closes(i, e)
	}
	e = environment{name: "Dollar", from: i + 1, to: t.dollars.next(i + 1)}
	e.end = e.to + 1
	return e, e.to > e.from && t.at(i-1) != '\\' && !t.digit(i-1) && t.at(e.to) == '$'
}

// fraction reads -\frac{1}{2} of plain numbers.
func (t *scanned) fraction(i int) (environment, bool) {
	e := environment{name: "Fraction", from: i}
	if t.at(i) == '-' {
		i++
	}
	if !t.follows(i, `\frac`) {
		return e, false
	}
	i += len(`\frac`)
	for range 2 {
		end, ok := t.braced(i)
		if !ok {
			return e, false
		}
		i = end
	}
	e.to, e.end = i, i
	return e, true
}

// braced reads `{-?\d+(?:[.,]\d+)?}`.
func (t *scanned) braced(i int) (end int, ok bool) {
	if t.at(i) != '{' {
		return i, false
	}
	i++
	if t.at(i) == '-' {
		i++
	}
	end = t.digits(i)
	if end == i {
		return i, false
	}
	if c := t.at(end); (c == '.' || c == ',') && t.digit(end+1) {
		end = t.digits(end + 1)
	}
	return end + 1, t.at(end) == '}'
}

// boxIn reports whether the content has \boxed{…} in it.
func (t *scanned) boxIn(e environment) bool {
	box := t.boxes.next(e.from)
	if box < 0 {
		return false
	}
	brace := t.braces.next(box + len(`\boxed{`) + 1)
	return brace >= 0 && brace < e.to
}
