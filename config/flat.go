package config

import "reflect"

// Value is a scalar of a configuration with the place it came from.
type Value struct {
	Key    string // with dots, and indices in brackets
	Value  any    // a string, a number, a bool, nil, or an empty list or mapping as text
	Origin Origin
}

// Values lists every scalar of the configuration in the order of the schema, secrets hidden.
func (c *Config) Values() []Value {
	var list []Value
	c.values(encode(reflect.ValueOf(c).Elem()), "", &list)
	return list
}

func (c *Config) values(n *node, path string, list *[]Value) {
	switch {
	case n.kind == mapping && len(n.fields) > 0:
		for _, f := range n.fields {
			c.values(f.value, join(path, f.key), list)
		}
	case n.kind == sequence && len(n.items) > 0:
		for i, item := range n.items {
			c.values(item, index(path, i), list)
		}
	case n.kind == mapping || n.kind == sequence:
		*list = append(*list, Value{path, flowText(n), c.Origin(path)})
	default:
		*list = append(*list, Value{path, n.scalarValue(), c.Origin(path)})
	}
}
