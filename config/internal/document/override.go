package document

import "strings"

// applyOverrides lays `dotted.key=value` texts over the tree, in order. A mapping is laid over a mapping key by key;
// any other value replaces what is there. A list grows by one when the index is its length.
func applyOverrides(root *Node, overrides []string, found *Problems) {
	for _, text := range overrides {
		src := &source{Override: text}
		at := Position{Src: src}
		path, value, ok := strings.Cut(text, "=")
		path = strings.TrimSpace(path)
		if !ok || path == "" {
			found.Add(at, "", "is not an assignment; write key=value, such as buffer.batch_size=16")
			continue
		}
		steps, err := splitPath(path)
		if err != nil {
			found.Add(at, "", "%s", err)
			continue
		}
		src.text = value
		var wrong Problems
		n := overrideValue(src, &wrong)
		if len(wrong) > 0 {
			found.Add(at, path, "%s; put quotes around the value if it is a text", wrong[0].Text)
			continue
		}
		if why := assign(root, steps, n); why != "" {
			found.Add(at, path, "%s", why)
		}
	}
}

// overrideValue parses the text after the equals sign. No text is the empty string; null is written out.
func overrideValue(src *source, found *Problems) *Node {
	if strings.TrimSpace(src.text) == "" {
		return &Node{Quoted: true, At: Position{Src: src}}
	}
	return parseValue(src, found)
}

// assign puts value at the end of steps below n, making mappings on the way. It returns what is in the way, or "".
func assign(n *Node, steps []step, value *Node) string {
	last := len(steps) == 1
	next := n.child(steps[0])
	switch {
	case next != nil && !last && next.Kind != Scalar:
		return assign(next, steps[1:], value)
	case next != nil && last && next.Kind == Mapping && value.Kind == Mapping:
		for _, f := range value.Fields {
			assign(next, []step{{key: f.Key}}, f.Value)
		}
		return ""
	case next != nil && !last && !next.IsNull():
		return "cannot be set: " + Quote(next.Text) + " on the way is a plain value, not a mapping"
	case last:
		return n.put(steps[0], value)
	}
	next = newContainer(steps[1], value.At)
	if why := n.put(steps[0], next); why != "" {
		return why
	}
	return assign(next, steps[1:], value)
}

// newContainer is an empty list or mapping, whichever the step can go into.
func newContainer(s step, at Position) *Node {
	if s.key == "" {
		return &Node{Kind: Sequence, At: at}
	}
	if _, isIndex := s.in(); isIndex {
		return &Node{Kind: Sequence, At: at}
	}
	return &Node{Kind: Mapping, At: at}
}

// put sets one entry of n itself and returns what is in the way, or "".
func (n *Node) put(s step, value *Node) string {
	switch n.Kind {
	case Mapping:
		if s.key == "" {
			return "cannot be set: an index was given, but there is a mapping of keys"
		}
		n.Set(s.key, value.At, value)
		return ""
	case Sequence:
		i, ok := s.in()
		switch {
		case !ok:
			return "cannot be set: " + Quote(s.key) + " was given, but there is a list; write an index such as [0]"
		case i < len(n.Items):
			n.Items[i] = value
		case i == len(n.Items):
			n.Items = append(n.Items, value)
		default:
			return "cannot be set: the list is shorter; give its items in order from [0]"
		}
		return ""
	}
	return "cannot be set below a plain value"
}
