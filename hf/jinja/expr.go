package jinja

import (
	"fmt"
	"strings"
)

// expr is an expression of the syntax tree.
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

func (e constant) eval(*run) (Value, error) { return e.v, nil }
func (e name) eval(r *run) (Value, error)   { return r.scope.lookup(e.name), r.step() }

// evalAll evaluates expressions in order.
func (r *run) evalAll(all []expr) ([]Value, error) {
	if err := r.spend("lists", 0, slotBytes*len(all)+2*slotBytes); err != nil {
		return nil, err
	}
	out := make([]Value, len(all))
	for i, e := range all {
		v, err := e.eval(r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, r.step()
}

func (e listLit) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	list, err := r.evalAll(e.items)
	return List(list), err
}

func (e tupleLit) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	list, err := r.evalAll(e.items)
	return Tuple(list), err
}

func (e dictLit) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	if err := r.spend("dicts", len(e.keys), entryBytes*(1+len(e.keys))); err != nil {
		return nil, err
	}
	m := &Map{}
	for i := range e.keys {
		k, err := e.keys[i].eval(r)
		if err != nil {
			return nil, err
		}
		if err := hashable(k); err != nil {
			return nil, err
		}
		if err := r.hashed(k); err != nil {
			return nil, err
		}
		v, err := e.values[i].eval(r)
		if err != nil {
			return nil, err
		}
		m.set(k, v)
	}
	return m, r.step()
}

func (e attribute) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	of, err := e.of.eval(r)
	if err != nil {
		return nil, err
	}
	v, err := r.getAttr(of, e.name)
	return v, at(e.line, err)
}

func (e subscript) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	of, err := e.of.eval(r)
	if err != nil {
		return nil, err
	}
	index, err := e.index.eval(r)
	if err != nil {
		return nil, err
	}
	v, err := r.getItem(of, index)
	return v, at(e.line, err)
}

func (e slicing) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	of, err := e.of.eval(r)
	if err != nil {
		return nil, err
	}
	var bounds [3]Value
	for i, b := range []expr{e.from, e.to, e.step} {
		if b != nil {
			if bounds[i], err = b.eval(r); err != nil {
				return nil, err
			}
		}
	}
	v, err := r.slice(of, bounds)
	return v, at(e.line, err)
}

func (e unary) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	x, err := e.x.eval(r)
	if err != nil {
		return nil, err
	}
	n, ok := number(x)
	if !ok {
		return nil, at(e.line, fmt.Errorf("%s has no sign", typeName(x)))
	}
	if e.op == "+" {
		return n, nil
	}
	if f, ok := n.(float64); ok {
		return -f, nil
	}
	v, err := r.arith("-", int64(0), n)
	return v, at(e.line, err)
}

func (e not) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	x, err := e.x.eval(r)
	return !truth(x), err
}

func (e logical) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	a, err := e.a.eval(r)
	if err != nil || truth(a) == (e.op == "or") {
		return a, err
	}
	return e.b.eval(r)
}

func (e binary) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	a, err := e.a.eval(r)
	if err != nil {
		return nil, err
	}
	b, err := e.b.eval(r)
	if err != nil {
		return nil, err
	}
	if err := r.step(); err != nil {
		return nil, at(e.line, err)
	}
	a, b = e.joined(a, b)
	v, err := r.arith(e.op, a, b)
	return v, at(e.line, err)
}

func (e concat) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	list, err := r.evalAll(e.items)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, v := range list {
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := r.fits(out.Len() + len(s)); err != nil {
			return nil, err
		}
		if err := r.spend("~", textSteps(len(s)), len(s)); err != nil {
			return nil, err
		}
		out.WriteString(s)
	}
	return out.String(), nil
}

func (e comparison) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	a, err := e.first.eval(r)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		b, err := e.rest[i].eval(r)
		if err != nil {
			return nil, err
		}
		ok, err := r.holds(op, a, b)
		if !ok || err != nil {
			return false, at(e.line, err)
		}
		a = b
	}
	return true, nil
}

// holds is a op b for a comparison.
func (r *run) holds(op string, a, b Value) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := r.equal(a, b, 0)
		return same == (op == "=="), err
	case "in", "not in":
		found, err := r.contains(b, a)
		return found == (op == "in"), err
	}
	c, err := r.compare(a, b)
	switch op {
	case "<":
		return c < 0, err
	case "<=":
		return c <= 0, err
	case ">":
		return c > 0, err
	}
	return c >= 0, err
}

func (e conditional) eval(r *run) (Value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	test, err := e.test.eval(r)
	if err != nil {
		return nil, err
	}
	switch {
	case truth(test):
		return e.then.eval(r)
	case e.other == nil:
		return undefined{what: "an if without else gave no value"}, nil
	}
	return e.other.eval(r)
}
