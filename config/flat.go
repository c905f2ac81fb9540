package config

import (
	"reflect"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

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

func (c *Config) values(n *document.Node, path string, list *[]Value) {
	switch {
	case n.Kind == document.Mapping && len(n.Fields) > 0:
		for _, f := range n.Fields {
			c.values(f.Value, document.Join(path, f.Key), list)
		}
	case n.Kind == document.Sequence && len(n.Items) > 0:
		for i, item := range n.Items {
			c.values(item, document.Index(path, i), list)
		}
	case n.Kind == document.Mapping || n.Kind == document.Sequence:
		*list = append(*list, Value{path, document.FlowText(n), c.Origin(path)})
	default:
		*list = append(*list, Value{path, n.ScalarValue(), c.Origin(path)})
	}
}
