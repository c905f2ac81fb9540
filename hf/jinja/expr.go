package jinja

import "fmt"

// expr is an expression of the syntax tree. It is evaluated by [run.eval].
type expr interface {
	eval(r *run) (Value, error)
}

type (
	constant  struct{ v Value }
	name      struct{ name string }
	listLit   struct{ items []expr }
	tupleLit  struct{ items []expr }
	dictLit   struct{ keys, values []expr }
	attribute struct { // of.name
		of   expr
		name string
		line int
	}
	subscript struct { // of[index]
		of, index expr
		line      int
	}
	slicing struct { // of[from:to:step], each may be nil
		of, from, to, step expr
		line               int
	}
	unary struct { // - +
		op   string
		x    expr
		line int
	}
	not     struct{ x expr }
	logical struct { // and, or
		op   string
		a, b expr
	}
	binary struct {
		op   string
		a, b expr
		line int
	}
	concat     struct{ items []expr } // ~
	comparison struct {               // a op b op c ...
		first expr
		ops   []string
		rest  []expr
		line  int
	}
	conditional struct{ then, test, other expr } // other may be nil
)

// eval evaluates an expression, and charges it unless it is a constant.
func (r *run) eval(e expr) (Value, error) {
	switch e.(type) {
	case constant, name:
		return e.eval(r)
	}
	r.evals++
	defer func() { r.evals-- }()
	if r.evals > maxEvals {
		return nil, fmt.Errorf("expressions and macros nest more than %d deep", maxEvals)
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	return e.eval(r)
}

func (e constant) eval(*run) (Value, error) { return e.v, nil }
func (e name) eval(r *run) (Value, error)   { return r.scope.lookup(e.name), r.step() }

// evalAll evaluates expressions in order.
func (r *run) evalAll(all []expr) ([]Value, error) {
	if err := r.spend("lists", 0, slotBytes*len(all)+2*slotBytes); err != nil {
		return nil, err
	}
	out := make([]Value, len(all))
	for i, e := range all {
		v, err := r.eval(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, r.step()
}

func (e listLit) eval(r *run) (Value, error) {
	list, err := r.evalAll(e.items)
	return List(list), err
}

func (e tupleLit) eval(r *run) (Value, error) {
	list, err := r.evalAll(e.items)
	return Tuple(list), err
}

func (e dictLit) eval(r *run) (Value, error) {
	if err := r.spend("dicts", len(e.keys), entryBytes*(1+len(e.keys))); err != nil {
		return nil, err
	}
	m := &Map{}
	for i := range e.keys {
		k, err := r.eval(e.keys[i])
		if err != nil {
			return nil, err
		}
		if err := hashable(k); err != nil {
			return nil, err
		}
		if err := r.hashed(k); err != nil {
			return nil, err
		}
		v, err := r.eval(e.values[i])
		if err != nil {
			return nil, err
		}
		m.set(k, v)
	}
	return m, r.step()
}

func (e attribute) eval(r *run) (Value, error) {
	of, err := r.eval(e.of)
	if err != nil {
		return nil, err
	}
	v, err := r.getAttr(of, e.name)
	return v, at(e.line, err)
}

func (e subscript) eval(r *run) (Value, error) {
	of, err := r.eval(e.of)
	if err != nil {
		return nil, err
	}
	index, err := r.eval(e.index)
	if err != nil {
		return nil, err
	}
	v, err := r.getItem(of, index)
	return v, at(e.line, err)
}

func (e slicing) eval(r *run) (Value, error) {
	of, err := r.eval(e.of)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i, b := range []expr{e.from, e.to, e.step} {
		if b != nil {
			if bounds[i], err = r.eval(b); err != nil {
				return nil, err
			}
		}
	}
	v, err := r.slice(of, bounds)
	return v, at(e.line, err)
}
