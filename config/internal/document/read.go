package document

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// reader turns the parser's tree into ours.
type reader struct {
	src     *source
	found   *Problems
	anchors map[string]*Node
	count   int
	full    bool
}

// read returns the tree of n; path is its dotted key, for messages.
func (r *reader) read(n ast.Node, path string, depth int) *Node {
	at := place(r.src, n)
	if r.tooMuch(at, path, depth) {
		return &Node{At: at, Broken: true}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return r.readMapping(n.Values, at, path, depth)
	case *ast.MappingValueNode:
		return r.readMapping([]*ast.MappingValueNode{n}, at, path, depth)
	case *ast.SequenceNode:
		out := &Node{Kind: Sequence, At: at}
		for i, v := range n.Values {
			out.Items = append(out.Items, r.read(v, Index(path, i), depth+1))
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
		return &Node{Text: n.Value.Value, Quoted: true, At: at}
	case *ast.StringNode:
		quoted := n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType
		return &Node{Text: n.Value, Quoted: quoted, At: at}
	case *ast.NullNode:
		return &Node{At: at}
	case ast.ScalarNode:
		return &Node{Text: strings.TrimSpace(n.GetToken().Value), At: at}
	}
	r.found.Add(at, path, "a YAML %s is not possible here; write a plain value", n.Type())
	return &Node{At: at, Broken: true}
}

// tooMuch reports, once, a text that is nested or expands beyond the limits.
func (r *reader) tooMuch(at Position, path string, depth int) bool {
	r.count++
	if r.full {
		return true
	}
	if depth > maxDepth || r.count > maxNodes {
		r.full = true
		r.found.Add(at, path, "the configuration is nested deeper than %d levels or holds more than %d values; is "+
			"this the right file?", maxDepth, maxNodes)
	}
	return r.full
}

func (r *reader) readMapping(values []*ast.MappingValueNode, at Position, path string, depth int) *Node {
	out := &Node{Kind: Mapping, At: at}
	var merged []*Node
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
func (r *reader) readField(out *Node, v *ast.MappingValueNode, seen map[string]int, path string, depth int) {
	at := place(r.src, v.Key)
	key, ok := keyText(v.Key)
	if !ok {
		r.found.Add(at, path, "a key must be a plain word")
		return
	}
	full := Join(path, key)
	value := r.read(v.Value, full, depth+1)
	if line, twice := seen[key]; twice {
		r.found.Add(at, full, "duplicate key, first given on line %d; keep one of the two", line)
		return
	}
	seen[key] = at.Line
	out.Fields = append(out.Fields, Field{key, at, value})
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
func (r *reader) merge(out, m *Node, path string) {
	switch m.Kind {
	case Mapping:
		for _, f := range m.Fields {
			if out.Get(f.Key) == nil {
				out.Fields = append(out.Fields, f)
			}
		}
	case Sequence:
		for _, item := range m.Items {
			r.merge(out, item, path)
		}
	default:
		r.found.Add(m.At, Join(path, "<<"), "is %s; a merge key needs a mapping, such as *name", m.Describe())
	}
}

func (r *reader) readAlias(n *ast.AliasNode, at Position, path string, depth int) *Node {
	name := n.Value.String()
	target, ok := r.anchors[name]
	if !ok {
		r.found.Add(at, path, "there is no anchor &%s above; name one or write the value", name)
		return &Node{At: at, Broken: true}
	}
	return r.copy(target, path, depth)
}

// copy returns a separate tree, so that an override of one use of an anchor leaves the others alone.
func (r *reader) copy(n *Node, path string, depth int) *Node {
	out := *n
	if r.tooMuch(n.At, path, depth) {
		return &Node{At: n.At, Broken: true}
	}
	out.Fields, out.Items = nil, nil
	for _, f := range n.Fields {
		out.Fields = append(out.Fields, Field{f.Key, f.At, r.copy(f.Value, path, depth+1)})
	}
	for _, item := range n.Items {
		out.Items = append(out.Items, r.copy(item, path, depth+1))
	}
	return &out
}

func (r *reader) readTag(n *ast.TagNode, at Position, path string, depth int) *Node {
	tag := n.Start.Value
	if n.Value == nil {
		return &Node{At: at}
	}
	out := r.read(n.Value, path, depth+1)
	switch tag {
	case "!!str":
		out.Quoted = true
	case "!!int", "!!float", "!!bool", "!!null":
		out.Quoted = false
	case "!!map", "!!seq":
	default:
		r.found.Add(at, path, "the tag %s is not known; write the value without it", tag)
	}
	return out
}
