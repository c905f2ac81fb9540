package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader turns the parser's tree into ours.
type reader struct {
	src     *source
	found   *problems
	anchors map[string]*node
	count   int
	full    bool
}

// read returns the tree of n; path is its dotted key, for messages.
func (r *reader) read(n ast.Node, path string, depth int) *node {
	at := place(r.src, n)
	if r.tooMuch(at, path, depth) {
		return &node{at: at, broken: true}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.readMapping(n.Values, at, path, depth)
	case *ast.MappingValueNode:
		return r.readMapping([]*ast.MappingValueNode{n}, at, path, depth)
	case *ast.SequenceNode:
		out := &node{kind: sequence, at: at}
		for i, v := range n.Values {
			out.items = append(out.items, r.read(v, index(path, i), depth+1))
		}
		return out
	case *ast.AnchorNode:
		out := r.read(n.Value, path, depth+1)
		r.anchors[n.Name.String()] = out
		return out
	case *ast.AliasNode:
		return r.readAlias(n, at, path, depth)
	case *ast.TagNode:
		return r.readTag(n, at, path, depth)
	case *ast.LiteralNode:
		return &node{text: n.Value.Value, quoted: true, at: at}
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		return &node{text: n.Value, quoted: quoted, at: at}
	case *ast.NullNode:
		return &node{at: at}
	case ast.ScalarNode:
		return &node{text: strings.TrimSpace(n.GetToken().Value), at: at}
	}
	r.found.add(at, path, "a YAML %s cannot stand here; write a plain value", n.Type())
	return &node{at: at, broken: true}
}

// tooMuch reports, once, a text that is nested or expands beyond the limits.
func (r *reader) tooMuch(at position, path string, depth int) bool {
	r.count++
	if r.full {
		return true
	}
	if depth > maxDepth || r.count > maxNodes {
		r.full = true
		r.found.add(at, path, "the configuration is nested deeper than %d levels or holds more than %d values; is "+
			"this the right file?", maxDepth, maxNodes)
	}
	return r.full
}

func (r *reader) readMapping(values []*ast.MappingValueNode, at position, path string, depth int) *node {
	out := &node{kind: mapping, at: at}
	var merged []*node
	seen := make(map[string]int, len(values)) // the line of each key
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, r.read(v.Value, path, depth+1))
			continue
		}
		r.readField(out, v, seen, path, depth)
	}
	for _, m := range merged {
		r.merge(out, m, path)
	}
	return out
}

// readField adds one entry; a key that is there already is a problem, and the first value stays.
func (r *reader) readField(out *node, v *ast.MappingValueNode, seen map[string]int, path string, depth int) {
	at := place(r.src, v.Key)
	key, ok := keyText(v.Key)
	if !ok {
		r.found.add(at, path, "a key must be a plain word")
		return
	}
	full := join(path, key)
	value := r.read(v.Value, full, depth+1)
	if line, twice := seen[key]; twice {
		r.found.add(at, full, "duplicate key, first given on line %d; keep one of the two", line)
		return
	}
	seen[key] = at.line
	out.fields = append(out.fields, field{key, at, value})
}

func keyText(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.MappingKeyNode:
		if inner, ok := k.Value.(ast.MapKeyNode); ok {
			return keyText(inner)
		}
		return "", false
	case ast.ScalarNode:
		return k.GetToken().Value, true
	}
	return "", false
}

// merge adds the entries of a `<<` value that are not given directly.
func (r *reader) merge(out, m *node, path string) {
	switch m.kind {
	case mapping:
		for _, f := range m.fields {
			if out.get(f.key) == nil {
				out.fields = append(out.fields, f)
			}
		}
	case sequence:
		for _, item := range m.items {
			r.merge(out, item, path)
		}
	default:
		r.found.add(m.at, join(path, "<<"), "is %s; a merge key needs a mapping, such as *name", m.describe())
	}
}

func (r *reader) readAlias(n *ast.AliasNode, at position, path string, depth int) *node {
	name := n.Value.String()
	target, ok := r.anchors[name]
	if !ok {
		r.found.add(at, path, "there is no anchor &%s above; name one or write the value", name)
		return &node{at: at, broken: true}
	}
	return r.copy(target, path, depth)
}

// copy returns a tree of its own, so that an override of one use of an anchor leaves the others alone.
func (r *reader) copy(n *node, path string, depth int) *node {
	out := *n
	if r.tooMuch(n.at, path, depth) {
		return &node{at: n.at, broken: true}
	}
	out.fields, out.items = nil, nil
	for _, f := range n.fields {
		out.fields = append(out.fields, field{f.key, f.at, r.copy(f.value, path, depth+1)})
	}
	for _, item := range n.items {
		out.items = append(out.items, r.copy(item, path, depth+1))
	}
	return &out
}

func (r *reader) readTag(n *ast.TagNode, at position, path string, depth int) *node {
	tag := n.Start.Value
	if n.Value == nil {
		return &node{at: at}
	}
	out := r.read(n.Value, path, depth+1)
	switch tag {
	case "!!str":
		out.quoted = true
	case "!!int", "!!float", "!!bool", "!!null":
		out.quoted = false
	case "!!map", "!!seq":
	default:
		r.found.add(at, path, "the tag %s is not known; write the value without it", tag)
	}
	return out
}
