package jinja

import (
	"fmt"
	"strings"
)

func (e unary) eval(r *run) (Value, error) {
	x, err := r.eval(e.x)
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
	x, err := r.eval(e.x)
	return !truth(x), err
}

func (e logical) eval(r *run) (Value, error) {
	a, err := r.eval(e.a)
	if err != nil || truth(a) == (e.op == "or") {
		return a, err
	}
	return r.eval(e.b)
}

func (e binary) eval(r *run) (Value, error) {
	a, err := r.eval(e.a)
	if err != nil {
		return nil, err
	}
	b, err := r.eval(e.b)
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
	a, err := r.eval(e.first)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		b, err := r.eval(e.rest[i])
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
	test, err := r.eval(e.test)
	if err != nil {
		return nil, err
	}
	switch {
	case truth(test):
		return r.eval(e.then)
	case e.other == nil:
		return undefined{what: "an if without else gave no value"}, nil
	}
	return r.eval(e.other)
}
