package jinja

// In Python what the filters safe, escape and forceescape give is markup: text
// that + escapes others for, markup excepted. Here that holds within one
// expression; markup kept in a variable is an ordinary text.

// marked reports whether e gives markup.
func marked(e expr) bool {
	switch e := e.(type) {
	case filtering:
		switch e.name {
		case "safe", "escape", "e", "forceescape":
			return true
		}
	case binary:
		return e.op == "+" && (marked(e.a) || marked(e.b))
	}
	return false
}

// joined prepares the sides of a +: beside markup a text is escaped.
func (e binary) joined(a, b Value) (Value, Value) {
	if e.op != "+" {
		return a, b
	}
	left, right := marked(e.a), marked(e.b)
	if s, ok := a.(string); ok && right && !left {
		a = escapeHTML(s)
	}
	if s, ok := b.(string); ok && left && !right {
		b = escapeHTML(s)
	}
	return a, b
}
