package document

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// interpolate returns the tree with each ${…} replaced: ${oc.env:NAME} and ${oc.env:NAME,default} by the environment,
// ${oc.decode:text} by the text read as YAML, ${dotted.key} by the value of that key from the top, given or default.
// They may be part of longer texts and nested; \${ is a plain ${. A value from the environment is a text
// until the schema says otherwise.
func interpolate(root *Node, lookup func(string) (string, bool), defaults func() *Node, found *Problems) *Node {
	in := interpolator{root: root, lookup: lookup, defaults: sync.OnceValue(defaults), found: found,
		done: map[*Node]*Node{}, weight: map[*Node]int{}}
	return in.resolve(root, "", 0)
}

type interpolator struct {
	root     *Node
	defaults func() *Node
	lookup   func(string) (string, bool)
	found    *Problems
	done     map[*Node]*Node // scalars with interpolations that are resolved already
	weight   map[*Node]int   // how many values each of them expands to
	open     []*Node         // scalars being resolved, outermost first
	names    []string        // their keys
	count    int
	full     bool
}

// maxExpanded is the longest text that interpolation may make.
const maxExpanded = 1 << 20

// resolve returns n with everything inside filled in; path is its key.
func (in *interpolator) resolve(n *Node, path string, depth int) *Node {
	in.count++
	if in.tooMuch(n, path, depth) {
		return &Node{At: n.At, Broken: true}
	}
	switch n.Kind {
	case Mapping:
		out := &Node{Kind: Mapping, At: n.At}
		for _, f := range n.Fields {
			out.Fields = append(out.Fields, Field{f.Key, f.At, in.resolve(f.Value, Join(path, f.Key), depth+1)})
		}
		return out
	case Sequence:
		out := &Node{Kind: Sequence, At: n.At}
		for i, item := range n.Items {
			out.Items = append(out.Items, in.resolve(item, Index(path, i), depth+1))
		}
		return out
	}
	if !strings.Contains(n.Text, "${") {
		return n
	}
	return in.resolveScalar(n, path, depth)
}

// tooMuch reports, once, references that expand beyond the limits.
func (in *interpolator) tooMuch(n *Node, path string, depth int) bool {
	if !in.full && (in.count > maxNodes || depth > maxDepth) {
		in.full = true
		in.found.Add(n.At, path, "references expand to more than %d values or %d levels; refer to less", maxNodes,
			maxDepth)
	}
	return in.full
}

// resolveScalar fills in one text, once, and refuses one that needs itself.
func (in *interpolator) resolveScalar(n *Node, path string, depth int) *Node {
	if out, ok := in.done[n]; ok {
		if in.count += in.weight[n]; in.tooMuch(n, path, depth) {
			return &Node{At: n.At, Broken: true}
		}
		return out
	}
	before := in.count
	if i := slices.Index(in.open, n); i >= 0 {
		chain := append(slices.Clone(in.names[i:]), in.names[i])
		in.found.Add(n.At, path, "refers to itself: %s; break the circle", strings.Join(chain, " → "))
		return &Node{At: n.At, Broken: true}
	}
	in.open, in.names = append(in.open, n), append(in.names, path)
	out, err := in.expand(n, depth)
	in.open, in.names = in.open[:len(in.open)-1], in.names[:len(in.names)-1]
	if err != nil {
		in.found.Add(n.At, path, "%s", err)
		out = &Node{At: n.At, Broken: true}
	}
	in.done[n], in.weight[n] = out, in.count-before
	return out
}

// expand fills in the text of n. A text that is a single interpolation takes the kind of its value.
func (in *interpolator) expand(n *Node, depth int) (*Node, error) {
	parts, err := splitText(n.Text)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 && parts[0].expr {
		out, err := in.evaluate(parts[0].text, n, depth)
		if err != nil {
			return nil, err
		}
		moved := *out
		moved.At = n.At
		return &moved, nil
	}
	return in.concat(parts, n, depth)
}

func (in *interpolator) concat(parts []part, n *Node, depth int) (*Node, error) {
	var b strings.Builder
	out := &Node{Quoted: true, At: n.At}
	for _, p := range parts {
		if !p.expr {
			b.WriteString(p.text)
			continue
		}
		v, err := in.evaluate(p.text, n, depth)
		if err != nil {
			return nil, err
		}
		if v.Broken {
			return v, nil
		}
		if v.Kind != Scalar {
			return nil, fmt.Errorf("${%s} is %s and cannot be part of a text", p.text, v.Describe())
		}
		if v.Env != "" {
			out.Env = v.Env
		}
		if v.IsNull() {
			b.WriteString("None")
		}
		b.WriteString(v.Text)
		if b.Len() > maxExpanded {
			return nil, fmt.Errorf("grows beyond %d characters; refer to less", maxExpanded)
		}
	}
	out.Text = b.String()
	return out, nil
}

// evaluate returns the value of one ${…} in n; expr is the text between the braces.
func (in *interpolator) evaluate(expr string, n *Node, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("interpolations are nested deeper than %d levels", maxDepth)
	}
	name, arg, call := strings.Cut(expr, ":")
	switch strings.TrimSpace(name) {
	case "oc.env":
		if call {
			return in.environment(arg, n, depth+1)
		}
	case "oc.decode":
		if call {
			return in.decodeText(arg, n, depth+1)
		}
	default:
		if !call {
			return in.reference(expr, n, depth+1)
		}
	}
	return nil, fmt.Errorf("${%s} is not known; there are ${oc.env:NAME}, ${oc.env:NAME,default}, ${oc.decode:text} "+
		"and ${dotted.key}", expr)
}

// text fills in a piece that may hold interpolations itself.
func (in *interpolator) text(s string, n *Node, depth int) (*Node, error) {
	return in.expand(&Node{Text: s, At: n.At}, depth)
}

func (in *interpolator) environment(arg string, n *Node, depth int) (*Node, error) {
	name, fallback, hasFallback := cutTop(arg)
	parts, err := splitText(strings.TrimSpace(name))
	if err != nil {
		return nil, err
	}
	filled, err := in.concat(parts, n, depth)
	if err != nil || filled.Broken {
		return filled, err
	}
	variable := filled.Text
	if value, ok := in.lookup(variable); ok {
		return &Node{Text: value, Quoted: true, At: n.At, Env: variable}, nil
	}
	if !hasFallback {
		return nil, fmt.Errorf("the environment variable %s is not set; set it, or write ${oc.env:%s,default}",
			variable, variable)
	}
	return in.fallback(strings.TrimSpace(fallback), n, depth)
}

// fallback is the default of an environment variable: a text, with quotes around it removed; null is null.
func (in *interpolator) fallback(s string, n *Node, depth int) (*Node, error) {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		parts, err := splitText(s[1 : len(s)-1])
		if err != nil {
			return nil, err
		}
		return in.concat(parts, n, depth)
	}
	if s == "null" {
		return &Node{Text: s, At: n.At}, nil
	}
	if !strings.Contains(s, "${") {
		return &Node{Text: s, Quoted: true, At: n.At}, nil
	}
	return in.text(s, n, depth)
}

func (in *interpolator) decodeText(arg string, n *Node, depth int) (*Node, error) {
	inner, err := in.text(strings.TrimSpace(arg), n, depth)
	if err != nil {
		return nil, err
	}
	if inner.Kind != Scalar || inner.IsNull() {
		return inner, nil
	}
	var wrong Problems
	out := parseValue(&source{File: n.At.name(), text: inner.Text}, &wrong)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("${oc.decode:%s} cannot read %s: %s", arg, Quote(inner.Text), wrong[0].Text)
	}
	return moveTo(out, n.At, inner.Env), nil
}

// moveTo gives a tree the place of the text that it was made from.
func moveTo(n *Node, at Position, env string) *Node {
	n.At, n.Env = at, env
	for i := range n.Fields {
		n.Fields[i].At = at
		moveTo(n.Fields[i].Value, at, env)
	}
	for _, item := range n.Items {
		moveTo(item, at, env)
	}
	return n
}

func (in *interpolator) reference(path string, n *Node, depth int) (*Node, error) {
	path = strings.TrimSpace(path)
	if strings.HasPrefix(path, ".") {
		return nil,
			fmt.Errorf("${%s} is relative; write the whole key from the top, such as ${model.max_prompt_tokens}", path)
	}
	steps, err := splitPath(path)
	if err != nil {
		return nil, fmt.Errorf("${%s} is not a key: %w", path, err)
	}
	if target := in.find(in.root, steps, depth); target != nil {
		return in.resolve(target, path, depth), nil
	}
	if target := in.find(in.defaults(), steps, depth); target != nil {
		return target, nil
	}
	return nil, fmt.Errorf("${%s} names no key of this configuration; write the whole key from the top", path)
}

// find follows the steps from n. A text on the way that refers to a mapping is filled in.
func (in *interpolator) find(n *Node, steps []step, depth int) *Node {
	for i, s := range steps {
		if n = n.child(s); n == nil {
			return nil
		}
		if i < len(steps)-1 && n.Kind == Scalar {
			n = in.resolve(n, "", depth)
		}
	}
	return n
}
