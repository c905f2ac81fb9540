package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// interpolate returns the tree with each ${…} replaced: ${oc.env:NAME} and ${oc.env:NAME,default} by the environment,
// ${oc.decode:text} by the text read as YAML, ${dotted.key} by the value of that key from the top, given or default.
// They may stand inside longer texts and inside each other; \${ is a plain ${. A value from the environment is a text
// until the schema says otherwise.
func interpolate(root *node, lookup func(string) (string, bool), found *problems) *node {
	in := interpolator{root: root, lookup: lookup, found: found, done: map[*node]*node{}, weight: map[*node]int{}}
	return in.resolve(root, "", 0)
}

type interpolator struct {
	root     *node
	defaults *node // the defaults as a tree, made when first needed
	lookup   func(string) (string, bool)
	found    *problems
	done     map[*node]*node // scalars with interpolations that are resolved already
	weight   map[*node]int   // how many values each of them stands for
	open     []*node         // scalars being resolved, outermost first
	names    []string        // their keys
	count    int
	full     bool
}

// maxExpanded is the longest text that interpolation may make.
const maxExpanded = 1 << 20

// resolve returns n with everything inside filled in; path is its key.
func (in *interpolator) resolve(n *node, path string, depth int) *node {
	in.count++
	if in.tooMuch(n, path, depth) {
		return &node{at: n.at, broken: true}
	}
	switch n.kind {
	case mapping:
		out := &node{kind: mapping, at: n.at}
		for _, f := range n.fields {
			out.fields = append(out.fields, field{f.key, f.at, in.resolve(f.value, join(path, f.key), depth+1)})
		}
		return out
	case sequence:
		out := &node{kind: sequence, at: n.at}
		for i, item := range n.items {
			out.items = append(out.items, in.resolve(item, index(path, i), depth+1))
		}
		return out
	}
	if !strings.Contains(n.text, "${") {
		return n
	}
	return in.resolveScalar(n, path, depth)
}

// tooMuch reports, once, references that expand beyond the limits.
func (in *interpolator) tooMuch(n *node, path string, depth int) bool {
	if !in.full && (in.count > maxNodes || depth > maxDepth) {
		in.full = true
		in.found.add(n.at, path, "references expand to more than %d values or %d levels; refer to less", maxNodes,
			maxDepth)
	}
	return in.full
}

// resolveScalar fills in one text, once, and refuses one that needs itself.
func (in *interpolator) resolveScalar(n *node, path string, depth int) *node {
	if out, ok := in.done[n]; ok {
		if in.count += in.weight[n]; in.tooMuch(n, path, depth) {
			return &node{at: n.at, broken: true}
		}
		return out
	}
	before := in.count
	if i := slices.Index(in.open, n); i >= 0 {
		chain := append(slices.Clone(in.names[i:]), in.names[i])
		in.found.add(n.at, path, "refers to itself: %s; break the circle", strings.Join(chain, " → "))
		return &node{at: n.at, broken: true}
	}
	in.open, in.names = append(in.open, n), append(in.names, path)
	out, err := in.expand(n, depth)
	in.open, in.names = in.open[:len(in.open)-1], in.names[:len(in.names)-1]
	if err != nil {
		in.found.add(n.at, path, "%s", err)
		out = &node{at: n.at, broken: true}
	}
	in.done[n], in.weight[n] = out, in.count-before
	return out
}

// expand fills in the text of n. A text that is one interpolation keeps the kind of what it stands for.
func (in *interpolator) expand(n *node, depth int) (*node, error) {
	parts, err := splitText(n.text)
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 && parts[0].expr {
		out, err := in.evaluate(parts[0].text, n, depth)
		if err != nil {
			return nil, err
		}
		moved := *out
		moved.at = n.at
		return &moved, nil
	}
	return in.concat(parts, n, depth)
}

func (in *interpolator) concat(parts []part, n *node, depth int) (*node, error) {
	var b strings.Builder
	out := &node{quoted: true, at: n.at}
	for _, p := range parts {
		if !p.expr {
			b.WriteString(p.text)
			continue
		}
		v, err := in.evaluate(p.text, n, depth)
		if err != nil {
			return nil, err
		}
		if v.broken {
			return v, nil
		}
		if v.kind != scalar {
			return nil, fmt.Errorf("${%s} is %s and cannot stand inside a text", p.text, v.describe())
		}
		if v.env != "" {
			out.env = v.env
		}
		if v.isNull() {
			b.WriteString("None")
		}
		b.WriteString(v.text)
		if b.Len() > maxExpanded {
			return nil, fmt.Errorf("grows beyond %d characters; refer to less", maxExpanded)
		}
	}
	out.text = b.String()
	return out, nil
}

// evaluate returns the value of the inside of one ${…} that stands in n.
func (in *interpolator) evaluate(expr string, n *node, depth int) (*node, error) {
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
func (in *interpolator) text(s string, n *node, depth int) (*node, error) {
	return in.expand(&node{text: s, at: n.at}, depth)
}

func (in *interpolator) environment(arg string, n *node, depth int) (*node, error) {
	name, fallback, hasFallback := cutTop(arg)
	parts, err := splitText(strings.TrimSpace(name))
	if err != nil {
		return nil, err
	}
	filled, err := in.concat(parts, n, depth)
	if err != nil || filled.broken {
		return filled, err
	}
	variable := filled.text
	if value, ok := in.lookup(variable); ok {
		return &node{text: value, quoted: true, at: n.at, env: variable}, nil
	}
	if !hasFallback {
		return nil, fmt.Errorf("the environment variable %s is not set; set it, or write ${oc.env:%s,default}",
			variable, variable)
	}
	return in.fallback(strings.TrimSpace(fallback), n, depth)
}

// fallback is the default of an environment variable: a text, with quotes around it removed; null is null.
func (in *interpolator) fallback(s string, n *node, depth int) (*node, error) {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		parts, err := splitText(s[1 : len(s)-1])
		if err != nil {
			return nil, err
		}
		return in.concat(parts, n, depth)
	}
	if s == "null" {
		return &node{text: s, at: n.at}, nil
	}
	if !strings.Contains(s, "${") {
		return &node{text: s, quoted: true, at: n.at}, nil
	}
	return in.text(s, n, depth)
}

func (in *interpolator) decodeText(arg string, n *node, depth int) (*node, error) {
	inner, err := in.text(strings.TrimSpace(arg), n, depth)
	if err != nil {
		return nil, err
	}
	if inner.kind != scalar || inner.isNull() {
		return inner, nil
	}
	var wrong problems
	out := parseValue(&source{file: n.at.name(), text: inner.text}, &wrong)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("${oc.decode:%s} cannot read %s: %s", arg, quote(inner.text), wrong[0].Text)
	}
	return moveTo(out, n.at, inner.env), nil
}

// moveTo gives a tree the place of the text that it was made from.
func moveTo(n *node, at position, env string) *node {
	n.at, n.env = at, env
	for i := range n.fields {
		n.fields[i].at = at
		moveTo(n.fields[i].value, at, env)
	}
	for _, item := range n.items {
		moveTo(item, at, env)
	}
	return n
}

func (in *interpolator) reference(path string, n *node, depth int) (*node, error) {
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
	if in.defaults == nil {
		in.defaults = encode(reflect.ValueOf(Default()).Elem())
	}
	if target := in.find(in.defaults, steps, depth); target != nil {
		return target, nil
	}
	return nil, fmt.Errorf("${%s} names no key of this configuration; write the whole key from the top", path)
}

// find follows the steps from n, filling in a text on the way that stands for a mapping.
func (in *interpolator) find(n *node, steps []step, depth int) *node {
	for i, s := range steps {
		if n = n.child(s); n == nil {
			return nil
		}
		if i < len(steps)-1 && n.kind == scalar {
			n = in.resolve(n, "", depth)
		}
	}
	return n
}
