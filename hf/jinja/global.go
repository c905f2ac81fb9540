package jinja

import "fmt"

// maxRange is the longest range, as in Jinja2's sandbox.
const maxRange = 100000

// globalTable returns the names that every template knows.
func globalTable() map[string]Value {
	return map[string]Value{
		"range":           function(globalRange),
		"dict":            function(globalDict),
		"namespace":       function(globalNamespace),
		"raise_exception": function(globalRaise),
		"strftime_now":    function(globalStrftime),
		"joiner":          function(globalJoiner),
	}
}

func globalRange(r *run, a args) (Value, error) {
	if len(a.pos) == 0 || len(a.pos) > 3 || len(a.named) > 0 {
		return nil, fmt.Errorf("range takes one to three integers")
	}
	var n [3]int
	for i, v := range a.pos {
		var err error
		if n[i], err = integer(v); err != nil {
			return nil, err
		}
	}
	from, to, step := n[0], n[1], n[2]
	switch len(a.pos) {
	case 1:
		from, to, step = 0, n[0], 1
	case 2:
		step = 1
	}
	if step == 0 {
		return nil, fmt.Errorf("the step of a range is 0")
	}
	list := List{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(list) == maxRange {
			return nil, fmt.Errorf("a range of more than %d elements", maxRange)
		}
		list = append(list, int64(i))
		if step > 0 && i > to-step || step < 0 && i < to-step {
			break // i + step might not fit
		}
	}
	return list, nil
}

func globalDict(r *run, a args) (Value, error) {
	m := &Map{}
	if len(a.pos) > 1 {
		return nil, fmt.Errorf("dict takes one value besides names")
	}
	for _, v := range a.pos {
		if from, ok := v.(*Map); ok {
			if err := r.spend("dicts", from.Len(), entryBytes*from.Len()); err != nil {
				return nil, err
			}
			m = from.Clone()
			continue
		}
		list, err := r.items(v)
		if err != nil {
			return nil, err
		}
		if err := r.spend("dicts", len(list), entryBytes*len(list)); err != nil {
			return nil, err
		}
		for _, item := range list {
			pair, err := r.items(item)
			if err != nil || len(pair) != 2 {
				return nil, fmt.Errorf("dict needs pairs of key and value")
			}
			if err := hashable(pair[0]); err != nil {
				return nil, err
			}
			if err := r.hashed(pair[0]); err != nil {
				return nil, err
			}
			m.set(pair[0], pair[1])
		}
	}
	if err := r.spend("dicts", len(a.named), entryBytes*(1+len(a.named))); err != nil {
		return nil, err
	}
	for _, n := range a.named {
		m.set(n.name, n.v)
	}
	return m, nil
}

func globalNamespace(r *run, a args) (Value, error) {
	m, err := globalDict(r, a)
	if err != nil {
		return nil, err
	}
	return &namespace{attrs: m.(*Map)}, nil
}

func globalRaise(r *run, a args) (Value, error) {
	v, err := a.bind("raise_exception", "message")
	if err != nil {
		return nil, err
	}
	message, err := r.str(or(v[0], ""))
	if err != nil {
		return nil, err
	}
	return nil, &Error{Message: message, Raised: true}
}

func globalStrftime(r *run, a args) (Value, error) {
	v, err := a.bind("strftime_now", "format")
	if err != nil {
		return nil, err
	}
	format, err := text(v[0])
	if err != nil {
		return nil, err
	}
	if err := r.spend("strftime_now", len(format), 16*len(format)); err != nil {
		return nil, err
	}
	return strftime(r.opts.Now, format)
}

// globalJoiner returns a function that gives nothing at its first call and
// the separator at all later ones.
func globalJoiner(r *run, a args) (Value, error) {
	v, err := a.bind("joiner", "sep")
	if err != nil {
		return nil, err
	}
	used := false
	return function(func(*run, args) (Value, error) {
		if !used {
			used = true
			return "", nil
		}
		return or(v[0], ", "), nil
	}), nil
}
