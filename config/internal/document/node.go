package document

import (
	"fmt"
	"strconv"
	"strings"
)

// Node is a value of the configuration text: a scalar, a mapping or a sequence, with its place.
type Node struct {
	Kind   kind
	Text   string // of a scalar
	Quoted bool   // a scalar that is a string whatever it looks like: quoted, block, or from the environment
	Fields []Field
	Items  []*Node
	At     Position
	Env    string // the environment variable that the value came from, if any
	Broken bool   // could not be made out, which is reported already
}

type kind uint8

const (
	Scalar kind = iota
	Mapping
	Sequence
)

// Field is one entry of a mapping, in the order of the text.
type Field struct {
	Key   string
	At    Position
	Value *Node
}

func (n *Node) IsNull() bool { return n.Kind == Scalar && !n.Quoted && isNullWord(n.Text) }

// Get returns the value under key, or nil.
func (n *Node) Get(key string) *Node {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			return n.Fields[i].Value
		}
	}
	return nil
}

// Set replaces the value under key or adds it.
func (n *Node) Set(key string, at Position, value *Node) {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			n.Fields[i].Value, n.Fields[i].At = value, at
			return
		}
	}
	n.Fields = append(n.Fields, Field{key, at, value})
}

// Describe names the node in a message: its value when it is short, else what it is.
func (n *Node) Describe() string {
	switch {
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == Sequence:
		return "a list"
	case n.IsNull():
		return "null"
	}
	return Quote(n.Text)
}

// step is one part of a dotted path: a key, or an index when key is empty.
type step struct {
	key   string
	index int
}

// splitPath cuts `a.b[0].c` (or `a.b.0.c`) into steps. A part that is a number counts as a key here; [step.in] takes
// it for an index if the value before it is a list.
func splitPath(path string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" && (len(steps) == 0 || !indexed) {
			return nil, fmt.Errorf("%s has an empty part; write a path such as buffer.batch_size or tasksets[0].path",
				Quote(path))
		}
		if name != "" {
			steps = append(steps, step{key: name})
		}
		for indexed {
			number, after, closed := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if !closed || err != nil || i < 0 {
				return nil, fmt.Errorf("%s has an unreadable index; write it as [0]", Quote(path))
			}
			steps = append(steps, step{index: i})
			if after == "" {
				break
			}
			if !strings.HasPrefix(after, "[") {
				return nil, fmt.Errorf("%s has text after an index; write a dot between", Quote(path))
			}
			rest = after[1:]
		}
	}
	return steps, nil
}

// in resolves the step in a list: its index, or a key that is a number.
func (s step) in() (int, bool) {
	if s.key == "" {
		return s.index, true
	}
	i, err := strconv.Atoi(s.key)
	return i, err == nil && i >= 0
}

// child returns what the step leads to from n, or nil.
func (n *Node) child(s step) *Node {
	switch n.Kind {
	case Mapping:
		if s.key != "" {
			return n.Get(s.key)
		}
	case Sequence:
		if i, ok := s.in(); ok && i < len(n.Items) {
			return n.Items[i]
		}
	}
	return nil
}

// Join writes the dotted path of key under parent.
func Join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// Index writes the path of item i of the list at parent.
func Index(parent string, i int) string { return parent + "[" + strconv.Itoa(i) + "]" }

// KeyPosition is where the text has the key below n.
func (n *Node) KeyPosition(key string) (Position, bool) {
	if n == nil || key == "" {
		return Position{}, false
	}
	i := strings.LastIndexByte(key, '.')
	steps, err := splitPath(key[:max(i, 0)])
	for _, s := range steps {
		if n = n.child(s); n == nil {
			return Position{}, false
		}
	}
	if err != nil || n.Kind != Mapping {
		return Position{}, false
	}
	for _, f := range n.Fields {
		if f.Key == key[i+1:] {
			return f.At, f.At.Src != nil
		}
	}
	return Position{}, false
}
