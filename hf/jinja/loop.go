package jinja

import "fmt"

type forStmt struct {
	target target
	over   expr
	filter expr // the if of the loop, or nil
	body   []stmt
	other  []stmt // else
	line   int

	recursive bool // the body may call loop(list)
}

// loop is the loop variable inside a for.
type loop struct {
	list []Value
	at   int

	changed []Value // the last arguments of loop.changed

	again func(r *run, list Value) (Value, error) // nil unless recursive
	depth int                                     // of recursion
}

func (s forStmt) exec(r *run) error {
	over, err := r.eval(s.over)
	if err != nil {
		return at(s.line, err)
	}
	return s.iterate(r, over, 0)
}

// iterate runs the body over a list; a recursive loop comes back here.
func (s forStmt) iterate(r *run, over Value, depth int) error {
	list, err := r.items(over)
	if err != nil {
		return at(s.line, err)
	}
	if s.filter != nil {
		if list, err = s.kept(r, list); err != nil {
			return at(s.line, err)
		}
	}
	if len(list) == 0 {
		return r.inner(&scope{parent: r.scope}, s.other)
	}
	l := &loop{list: list, depth: depth}
	if s.recursive {
		l.again = s.again(r.scope, depth)
	}
	if err := r.spend("loops", len(list)/4, 0); err != nil {
		return at(s.line, err)
	}
	for l.at = range list {
		inner := &scope{parent: r.scope}
		if err := r.assign(inner, s.target, list[l.at]); err != nil {
			return at(s.line, err)
		}
		inner.set("loop", l)
		if err := r.step(); err != nil {
			return at(s.line, err)
		}
		if err := r.inner(inner, s.body); err == errBreak {
			break
		} else if err != nil && err != errContinue {
			return err
		}
	}
	return nil
}

// again makes what loop(list) calls: the text of the loop over another list,
// one level deeper, in the scope of the whole loop.
func (s forStmt) again(outer *scope, depth int) func(*run, Value) (Value, error) {
	return func(r *run, list Value) (Value, error) {
		if r.depth >= maxCalls {
			return nil, fmt.Errorf("a loop calls itself more than %d deep", maxCalls)
		}
		r.depth++
		text, err := r.capture(outer, []stmt{deeper{s, list, depth + 1}})
		r.depth--
		return text, err
	}
}

// deeper is a recursive loop called with another list.
type deeper struct {
	loop  forStmt
	list  Value
	depth int
}

func (s deeper) exec(r *run) error { return s.loop.iterate(r, s.list, s.depth) }

// call is loop(list).
func (l *loop) call(r *run, a args) (Value, error) {
	if l.again == nil {
		return nil, fmt.Errorf("the loop is called but not marked recursive")
	}
	v, err := a.bind("loop", "iterable")
	if err != nil {
		return nil, err
	}
	return l.again(r, or(v[0], undefined{what: "loop was called without a list"}))
}

// kept returns the elements that the loop's if lets through.
func (s forStmt) kept(r *run, list []Value) (out []Value, err error) {
	saved := r.scope
	defer func() { r.scope = saved }()
	for _, v := range list {
		if err := r.step(); err != nil {
			return nil, err
		}
		r.scope = &scope{parent: saved}
		if err := r.assign(r.scope, s.target, v); err != nil {
			return nil, err
		}
		ok, err := r.eval(s.filter)
		if err != nil {
			return nil, err
		}
		if truth(ok) {
			out = append(out, v)
		}
	}
	return out, nil
}

// attr returns an attribute of the loop variable.
func (l *loop) attr(name string) Value {
	n := len(l.list)
	switch name {
	case "index":
		return int64(l.at + 1)
	case "index0":
		return int64(l.at)
	case "revindex":
		return int64(n - l.at)
	case "revindex0":
		return int64(n - l.at - 1)
	case "first":
		return l.at == 0
	case "last":
		return l.at == n-1
	case "length":
		return int64(n)
	case "depth":
		return int64(l.depth + 1)
	case "depth0":
		return int64(l.depth)
	case "previtem":
		return l.neighbour(l.at-1, "there is no previous item")
	case "nextitem":
		return l.neighbour(l.at+1, "there is no next item")
	case "cycle":
		return function(l.cycle)
	case "changed":
		return function(l.hasChanged)
	}
	return undefined{what: fmt.Sprintf("'loop' has no attribute '%s'", name)}
}

func (l *loop) neighbour(i int, what string) Value {
	if i < 0 || i >= len(l.list) {
		return undefined{what: what}
	}
	return l.list[i]
}

func (l *loop) cycle(_ *run, a args) (Value, error) {
	if len(a.pos) == 0 {
		return nil, fmt.Errorf("loop.cycle needs values to cycle through")
	}
	return a.pos[l.at%len(a.pos)], nil
}

func (l *loop) hasChanged(r *run, a args) (Value, error) {
	same, err := r.equalItems(l.changed, a.pos, 0)
	if err != nil {
		return nil, err
	}
	if same && l.changed != nil {
		return false, nil
	}
	l.changed = append([]Value{}, a.pos...)
	return true, nil
}
