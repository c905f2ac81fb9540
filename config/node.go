package config

import (
	"fmt"
	"strconv"
	"strings"
)

// node is a value of the configuration text: a scalar, a mapping or a sequence, with its place.
type node struct {
	kind   kind
	text   string // of a scalar
	quoted bool   // a scalar that is a string whatever it looks like: quoted, block, or from the environment
	fields []field
	items  []*node
	at     position
	env    string // the environment variable that the value came from, if any
	broken bool   // could not be made out, which is reported already
}

type kind uint8

const (
	scalar kind = iota
	mapping
	sequence
)

// field is one entry of a mapping, in the order of the text.
type field struct {
	key   string
	at    position
	value *node
}

func (n *node) isNull() bool { return n.kind == scalar && !n.quoted && isNullWord(n.text) }

// get returns the value under key, or nil.
func (n *node) get(key string) *node {
	for i := range n.fields {
		if n.fields[i].key == key {
			return n.fields[i].value
		}
	}
	return nil
}

// set replaces the value under key or adds it.
func (n *node) set(key string, at position, value *node) {
	for i := range n.fields {
		if n.fields[i].key == key {
			n.fields[i].value, n.fields[i].at = value, at
			return
		}
	}
	n.fields = append(n.fields, field{key, at, value})
}

// describe names the node in a message: its value when it is short, else what it is.
func (n *node) describe() string {
	switch {
	case n.kind == mapping:
		return "a mapping"
	case n.kind == sequence:
		return "a list"
	case n.isNull():
		return "null"
	}
	return quote(n.text)
}

// step is one part of a dotted path: a key, or an index when key is empty.
type step struct {
	key   string
	index int
}

// splitPath cuts `a.b[0].c` (or `a.b.0.c`) into steps. A part that is a number counts as a key here; [node.at] takes
// it for an index when it stands in a list.
func splitPath(path string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name == "" && (len(steps) == 0 || !indexed) {
			return nil, fmt.Errorf("%s has an empty part; write a path such as buffer.batch_size or tasksets[0].path",
				quote(path))
		}
		if name != "" {
			steps = append(steps, step{key: name})
		}
		for indexed {
			number, after, closed := strings.Cut(rest, "]")
			i, err := strconv.Atoi(number)
			if !closed || err != nil || i < 0 {
				return nil, fmt.Errorf("%s has an unreadable index; write it as [0]", quote(path))
			}
			steps = append(steps, step{index: i})
			if after == "" {
				break
			}
			if !strings.HasPrefix(after, "[") {
				return nil, fmt.Errorf("%s has text after an index; write a dot between", quote(path))
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
func (n *node) child(s step) *node {
	switch n.kind {
	case mapping:
		if s.key != "" {
			return n.get(s.key)
		}
	case sequence:
		if i, ok := s.in(); ok && i < len(n.items) {
			return n.items[i]
		}
	}
	return nil
}

// join writes the dotted path of key under parent.
func join(parent, key string) string {
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// index writes the path of item i of the list at parent.
func index(parent string, i int) string { return parent + "[" + strconv.Itoa(i) + "]" }
