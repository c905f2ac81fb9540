package config

import "strings"

// applyOverrides lays `dotted.key=value` texts over the tree, in order. A mapping is laid over a mapping key by key;
// any other value replaces what is there. A list grows by one when the index is its length.
func applyOverrides(root *node, overrides []string, found *problems) {
	for _, text := range overrides {
		src := &source{override: text}
		at := position{src: src}
		path, value, ok := strings.Cut(text, "=")
		path = strings.TrimSpace(path)
		if !ok || path == "" {
			found.add(at, "", "is not an assignment; write key=value, such as buffer.batch_size=16")
			continue
		}
		steps, err := splitPath(path)
		if err != nil {
			found.add(at, "", "%s", err)
			continue
		}
		src.text = value
		var wrong problems
		n := overrideValue(src, &wrong)
		if len(wrong) > 0 {
			found.add(at, path, "%s; put quotes around the value if it is a text", wrong[0].Text)
			continue
		}
		if why := assign(root, steps, n); why != "" {
			found.add(at, path, "%s", why)
		}
	}
}

// overrideValue parses the text after the equals sign. No text is the empty string; null is written out.
func overrideValue(src *source, found *problems) *node {
	if strings.TrimSpace(src.text) == "" {
		return &node{quoted: true, at: position{src: src}}
	}
	return parseValue(src, found)
}

// assign puts value at the end of steps below n, making mappings on the way. It returns what is in the way, or "".
func assign(n *node, steps []step, value *node) string {
	last := len(steps) == 1
	next := n.child(steps[0])
	switch {
	case next != nil && !last && next.kind != scalar:
		return assign(next, steps[1:], value)
	case next != nil && last && next.kind == mapping && value.kind == mapping:
		for _, f := range value.fields {
			assign(next, []step{{key: f.key}}, f.value)
		}
		return ""
	case next != nil && !last && !next.isNull():
		return "cannot be set: " + quote(next.text) + " on the way is a plain value, not a mapping"
	case last:
		return n.put(steps[0], value)
	}
	next = newContainer(steps[1], value.at)
	if why := n.put(steps[0], next); why != "" {
		return why
	}
	return assign(next, steps[1:], value)
}

// newContainer is an empty list or mapping, whichever the step can go into.
func newContainer(s step, at position) *node {
	if s.key == "" {
		return &node{kind: sequence, at: at}
	}
	if _, isIndex := s.in(); isIndex {
		return &node{kind: sequence, at: at}
	}
	return &node{kind: mapping, at: at}
}

// put sets one entry of n itself and returns what is in the way, or "".
func (n *node) put(s step, value *node) string {
	switch n.kind {
	case mapping:
		if s.key == "" {
			return "cannot be set: an index was given, but there is a mapping of keys"
		}
		n.set(s.key, value.at, value)
		return ""
	case sequence:
		i, ok := s.in()
		switch {
		case !ok:
			return "cannot be set: " + quote(s.key) + " was given, but there is a list; write an index such as [0]"
		case i < len(n.items):
			n.items[i] = value
		case i == len(n.items):
			n.items = append(n.items, value)
		default:
			return "cannot be set: the list is shorter; give its items in order from [0]"
		}
		return ""
	}
	return "cannot be set below a plain value"
}
