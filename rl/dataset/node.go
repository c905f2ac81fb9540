package dataset

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go"
	pq "github.com/parquet-go/parquet-go/format"
)

// node is one node of a parquet schema, with what is needed to put a row together again from the values of its leaves:
// the levels of https://parquet.apache.org/docs/file-format/nestedencoding/.
type node struct {
	name     string
	optional bool
	repeated bool
	def, rep int // definition level from which it is there; repetition level at which it continues
	kind     nodeKind
	wraps    bool // a repeated group around the items of a list, without a value of its own
	children []*node
	leaf     int                     // index of the first leaf below it, or of itself
	leaves   int                     // leaves below it, or 1
	value    func(parquet.Value) any // of a leaf
}

type nodeKind uint8

const (
	leafNode  nodeKind = iota
	groupNode          // an object
	listNode           // a group around a repeated child
	mapNode            // a group around repeated keys and values
)

// newNode reads a node and those below it. leaf is the index of its first leaf; the result counts them.
func newNode(c *parquet.Column, def, rep, leaf int) (*node, int, error) {
	n := &node{name: c.Name(), optional: c.Optional(), repeated: c.Repeated(), def: def, rep: rep, leaf: leaf,
		leaves: 1}
	root := c.Depth() == 0
	if !root && n.optional {
		n.def++
	}
	if !root && n.repeated {
		n.def++
		n.rep++
	}
	if root {
		n.optional, n.repeated = false, false
	}
	if c.Leaf() {
		n.value = leafValue(c.Type())
		return n, 1, nil
	}
	n.leaves = 0
	for _, child := range c.Columns() {
		m, k, err := newNode(child, n.def, n.rep, leaf+n.leaves)
		if err != nil {
			return nil, 0, err
		}
		n.children = append(n.children, m)
		n.leaves += k
	}
	if n.leaves == 0 {
		return nil, 0, fmt.Errorf("group %q has no columns", n.name)
	}
	n.kind = kindOf(c, n)
	return n, n.leaves, nil
}

func kindOf(c *parquet.Column, n *node) nodeKind {
	var logical any
	if t := c.Type(); t != nil && t.LogicalType() != nil {
		logical = t.LogicalType().Value
	}
	one := len(n.children) == 1 && n.children[0].repeated
	switch logical.(type) {
	case *pq.ListType:
		if one {
			n.children[0].wraps = n.children[0].isWrapper()
			return listNode
		}
	case *pq.MapType:
		if one && len(n.children[0].children) == 2 {
			return mapNode
		}
	}
	return groupNode
}

// isWrapper reports whether the repeated node of a list wraps its items: except in the two-level form of old writers.
// https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#lists
func (n *node) isWrapper() bool {
	return n.kind == groupNode && len(n.children) == 1 && n.name != "array" && !strings.HasSuffix(n.name, "_tuple") &&
		!n.children[0].repeated
}

// assembly is one row being put together: the values of each leaf, and how many of them are used.
type assembly struct {
	values [][]parquet.Value
	at     []int
}

var errLevels = errors.New("damaged: the columns of a row do not fit together")

// assemble puts a row together.
func (n *node) assemble(row parquet.Row, leaves int) (Row, error) {
	a := &assembly{values: make([][]parquet.Value, leaves), at: make([]int, leaves)}
	row.Range(func(i int, values []parquet.Value) bool {
		if i < leaves {
			a.values[i] = values
		}
		return true
	})
	v, err := n.read(a)
	if err != nil {
		return nil, err
	}
	return v.(Row), nil
}

// peek is the next value of the node's first leaf.
func (n *node) peek(a *assembly) (parquet.Value, bool) {
	if i := a.at[n.leaf]; i < len(a.values[n.leaf]) {
		return a.values[n.leaf][i], true
	}
	return parquet.Value{}, false
}

// skip uses up one value of each leaf: the place of something that is not there.
func (n *node) skip(a *assembly) {
	for i := n.leaf; i < n.leaf+n.leaves; i++ {
		a.at[i]++
	}
}

// read returns the node's value: nil, a list if it is repeated, or what is in it.
func (n *node) read(a *assembly) (any, error) {
	v, ok := n.peek(a)
	switch {
	case !ok:
		return nil, errLevels
	case v.DefinitionLevel() >= n.def:
	case n.repeated:
		n.skip(a)
		return []any{}, nil
	default:
		n.skip(a)
		return nil, nil
	}
	if !n.repeated {
		return n.content(a)
	}
	list := []any{}
	for {
		item, err := n.content(a)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
		if v, ok := n.peek(a); !ok || v.RepetitionLevel() != n.rep {
			return list, nil
		}
	}
}

// content reads what is in the node, which is there.
func (n *node) content(a *assembly) (any, error) {
	switch n.kind {
	case leafNode:
		v, ok := n.peek(a)
		if !ok {
			return nil, errLevels
		}
		a.at[n.leaf]++
		return n.value(v), nil
	case listNode:
		return n.children[0].read(a)
	case mapNode:
		items, err := n.children[0].read(a)
		if err != nil {
			return nil, err
		}
		return object(items), nil
	}
	if n.wraps {
		return n.children[0].read(a)
	}
	row := make(Row, len(n.children))
	for i, c := range n.children {
		v, err := c.read(a)
		if err != nil {
			return nil, err
		}
		row[i] = Field{c.name, v}
	}
	return row, nil
}

// object makes a map with keys of text an object; other maps stay lists of key and value.
func object(items any) any {
	list, ok := items.([]any)
	if !ok {
		return items
	}
	row := Row{}
	for _, item := range list {
		pair, ok := item.(Row)
		if !ok || len(pair) != 2 {
			return items
		}
		key, ok := pair[0].Value.(string)
		if !ok {
			return items
		}
		row = row.with(key, pair[1].Value)
	}
	return row
}
