package jinja

// generator acts as Python's generators and iterators do in a template: true
// whatever it holds, gone through once, without length, index or JSON. The
// filters map, select, reject, selectattr, rejectattr, unique, batch, slice,
// items and reverse give one. Its elements are made at once all the same.
type generator struct{ rest []Value }

func generate(list []Value) *generator { return &generator{list} }

// take returns what is left, after which nothing is.
func (g *generator) take() []Value {
	list := g.rest
	g.rest = nil
	return list
}

// next takes one element.
func (g *generator) next() (v Value, ok bool) {
	if len(g.rest) == 0 {
		return nil, false
	}
	v, g.rest = g.rest[0], g.rest[1:]
	return v, true
}
