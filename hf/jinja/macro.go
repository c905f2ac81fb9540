package jinja

import (
	"fmt"
	"slices"
)

// macro is {% macro name(params) %}. A {% call %} block makes one without name.
type macro struct {
	name   string
	params []string
	// defaults belong to the last parameters.
	defaults []expr
	body     []stmt
	line     int
}

type macroStmt struct{ m *macro }

func (s macroStmt) exec(r *run) error {
	r.scope.set(s.m.name, s.m.function(r.scope))
	return r.keep(r.scope)
}

// function makes the macro callable; its free names are looked up in outer.
func (m *macro) function(outer *scope) function {
	return func(r *run, a args) (Value, error) {
		if r.depth >= maxCalls {
			return nil, fmt.Errorf("macros call each other more than %d deep", maxCalls)
		}
		if err := r.spend("macro "+m.name, 1+len(a.named)*(1+len(m.params)/4),
			entryBytes*(len(a.pos)+len(a.named))); err != nil {
			return nil, err
		}
		inner := &scope{parent: outer, vars: make(map[string]Value)}
		if err := m.bind(r, inner, a); err != nil {
			return nil, err
		}
		r.depth++
		text, err := r.capture(inner, m.body)
		r.depth--
		if err != nil {
			return nil, err
		}
		return text, nil
	}
}

// bind sets the parameters, and varargs, kwargs and caller, in a macro's scope.
func (m *macro) bind(r *run, inner *scope, a args) error {
	n := min(len(a.pos), len(m.params))
	for i := range n {
		inner.set(m.params[i], a.pos[i])
	}
	inner.set("varargs", Tuple(a.pos[n:]))
	kwargs := &Map{}
	for _, arg := range a.named {
		i := slices.Index(m.params, arg.name)
		switch {
		case i >= 0 && i < n:
			return fmt.Errorf("macro '%s' got two values for %s", m.name, arg.name)
		case i >= 0 || arg.name == "caller":
			inner.set(arg.name, arg.v)
		default:
			kwargs.set(arg.name, arg.v)
		}
	}
	inner.set("kwargs", kwargs)
	saved := r.scope
	defer func() { r.scope = saved }()
	r.scope = inner
	for i := n; i < len(m.params); i++ {
		if _, given := inner.vars[m.params[i]]; given {
			continue
		}
		v := Value(undefined{what: fmt.Sprintf("parameter '%s' was not provided", m.params[i])})
		if d := i - (len(m.params) - len(m.defaults)); d >= 0 {
			var err error
			if v, err = r.eval(m.defaults[d]); err != nil {
				return err
			}
		}
		inner.set(m.params[i], v)
	}
	return nil
}

// callBlock is {% call macro(args) %}body{% endcall %}: the macro calls the
// body by the name caller.
type callBlock struct {
	call   call
	caller *macro
}

func (s callBlock) exec(r *run) error {
	fn, err := r.eval(s.call.fn)
	if err != nil {
		return err
	}
	a, err := s.call.args.eval(r)
	if err != nil {
		return at(s.call.line, err)
	}
	if err := r.keep(r.scope); err != nil {
		return at(s.call.line, err)
	}
	a.named = append(a.named, namedValue{"caller", s.caller.function(r.scope)})
	v, err := r.call(fn, a)
	if err != nil {
		return at(s.call.line, err)
	}
	return outputStmt{e: constant{v}, line: s.call.line}.exec(r)
}
