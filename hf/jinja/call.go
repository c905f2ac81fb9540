package jinja

import (
	"fmt"
	"slices"
)

// function is something that a template can call: a global, a method, a macro
// or, with the value as first argument, a filter or a test.
type function func(r *run, a args) (Value, error)

// args are the arguments of a call.
type args struct {
	pos   []Value
	named []namedValue
}

type namedValue struct {
	name string
	v    Value
}

// missing stands for an argument that was not given.
type missing struct{}

// or returns v, or def when v was not given.
func or(v, def Value) Value {
	if _, ok := v.(missing); ok {
		return def
	}
	return v
}

// bind puts arguments in the order of params, with missing for those not given.
func (a args) bind(fn string, params ...string) ([]Value, error) {
	out := make([]Value, len(params))
	for i := range out {
		out[i] = missing{}
	}
	if len(a.pos) > len(params) {
		return nil, fmt.Errorf("%s takes %d arguments, not %d", fn, len(params), len(a.pos))
	}
	copy(out, a.pos)
	for _, n := range a.named {
		i := slices.Index(params, n.name)
		if i < 0 {
			return nil, fmt.Errorf("%s has no argument named %s", fn, n.name)
		}
		if i < len(a.pos) {
			return nil, fmt.Errorf("%s got two values for %s", fn, n.name)
		}
		out[i] = n.v
	}
	return out, nil
}

// argList is the arguments of a call in the syntax tree.
type argList struct {
	pos   []argument
	named []namedArgument
}

// argument is an expression, spread over several arguments if star is set.
type argument struct {
	e    expr
	star bool
}

// namedArgument has no name if it is a dictionary spread by **.
type namedArgument struct {
	name string
	e    expr
}

// eval evaluates the arguments, after those in front.
func (l *argList) eval(r *run, front ...Value) (args, error) {
	a := args{pos: front}
	for _, p := range l.pos {
		v, err := r.eval(p.e)
		if err != nil {
			return a, err
		}
		if !p.star {
			a.pos = append(a.pos, v)
			continue
		}
		spread, err := r.items(v)
		if err != nil {
			return a, err
		}
		if err := r.spend("arguments", len(spread)/4, slotBytes*len(spread)); err != nil {
			return a, err
		}
		a.pos = append(a.pos, spread...)
	}
	for _, n := range l.named {
		v, err := r.eval(n.e)
		if err != nil {
			return a, err
		}
		if n.name != "" {
			a.named = append(a.named, namedValue{n.name, v})
			continue
		}
		m, ok := v.(*Map)
		if !ok {
			return a, fmt.Errorf("** before %s, which is not a dict", typeName(v))
		}
		if err := r.spend("arguments", m.Len(), entryBytes*m.Len()); err != nil {
			return a, err
		}
		for k, v := range m.All() {
			key, _ := k.(string)
			a.named = append(a.named, namedValue{key, v})
		}
	}
	return a, r.step()
}

type (
	call struct {
		fn   expr
		args argList
		line int
	}
	filtering struct { // x | name(args)
		x    expr
		name string
		args argList
		line int
	}
	checking struct { // x is name(args)
		x       expr
		name    string
		args    argList
		negated bool
		line    int
	}
)

func (e call) eval(r *run) (Value, error) {
	fn, err := r.eval(e.fn)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(r)
	if err != nil {
		return nil, at(e.line, err)
	}
	v, err := r.call(fn, a)
	return v, at(e.line, err)
}

func (r *run) call(fn Value, a args) (Value, error) {
	switch fn := fn.(type) {
	case function:
		return r.charged("calls", fn, a)
	case *loop:
		return fn.call(r, a)
	case undefined:
		return nil, fn.err()
	}
	return nil, fmt.Errorf("%s cannot be called", typeName(fn))
}

func (e filtering) eval(r *run) (Value, error) {
	x, err := r.eval(e.x)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(r, x)
	if err != nil {
		return nil, at(e.line, err)
	}
	v, err := r.filter(e.name, a)
	return v, at(e.line, err)
}

func (r *run) filter(name string, a args) (Value, error) {
	f, ok := r.t.filters[name]
	if !ok {
		return nil, fmt.Errorf("there is no filter named '%s'", name)
	}
	return r.charged(name, f, a)
}

// charged calls a function and charges what it is given and what it returns.
func (r *run) charged(kind string, f function, a args) (Value, error) {
	if err := r.taken(kind, a); err != nil {
		return nil, err
	}
	v, err := f(r, a)
	if err != nil {
		return nil, err
	}
	return v, r.made(kind, v)
}

func (e checking) eval(r *run) (Value, error) {
	x, err := r.eval(e.x)
	if err != nil {
		return nil, err
	}
	a, err := e.args.eval(r, x)
	if err != nil {
		return nil, at(e.line, err)
	}
	v, err := r.test(e.name, a)
	if err != nil {
		return nil, at(e.line, err)
	}
	return truth(v) != e.negated, nil
}

func (r *run) test(name string, a args) (Value, error) {
	f, ok := r.t.tests[name]
	if !ok {
		return nil, fmt.Errorf("there is no test named '%s'", name)
	}
	return r.charged(name, f, a)
}
