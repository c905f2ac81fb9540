package jinja

import "fmt"

// filterMap is map(attribute=path, default=v) or map(filter, arguments...).
func filterMap(r *run, a args) (Value, error) {
	if len(a.pos) == 0 {
		return nil, fmt.Errorf("map needs a value")
	}
	list, err := r.itemsIfAny(a.pos[0])
	if err != nil {
		return nil, err
	}
	if len(a.pos) == 1 {
		v, err := args{named: a.named}.bind("map", "attribute", "default")
		if err != nil {
			return nil, err
		}
		out, err := r.mapAttr(list, or(v[0], nil), or(v[1], nil))
		return generate(out), err
	}
	name, err := text(a.pos[1])
	if err != nil {
		return nil, err
	}
	var out []Value
	if err := r.spend("map", len(list), 2*slotBytes*len(list)); err != nil {
		return nil, err
	}
	for _, v := range list {
		x, err := r.filter(name, args{pos: append([]Value{v}, a.pos[2:]...), named: a.named})
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return generate(out), nil
}

// itemsIfAny is items, but of any false value there are none.
func (r *run) itemsIfAny(v Value) ([]Value, error) {
	if !truth(v) {
		return nil, nil
	}
	return r.items(v)
}

// choose makes select, reject, selectattr and rejectattr: the elements for
// which a test (by default their truth) gives want.
func choose(want, byAttr bool) function {
	return func(r *run, a args) (Value, error) {
		skip := 1
		if byAttr {
			skip = 2
		}
		if len(a.pos) < skip {
			return nil, fmt.Errorf("the filter needs the name of an attribute")
		}
		list, err := r.itemsIfAny(a.pos[0])
		if err != nil {
			return nil, err
		}
		var out []Value
		if err := r.spend("select", 0, slotBytes*len(list)); err != nil {
			return nil, err
		}
		for _, v := range list {
			x := v
			if byAttr {
				if x, err = r.follow(v, a.pos[1], nil); err != nil {
					return nil, err
				}
			}
			ok, err := r.passes(x, a.pos[skip:], a.named)
			if err != nil {
				return nil, err
			}
			if ok == want {
				out = append(out, v)
			}
		}
		return generate(out), nil
	}
}

// passes applies the test named by the first of rest, or truth if there is none.
func (r *run) passes(v Value, rest []Value, named []namedValue) (bool, error) {
	if err := r.step(); err != nil {
		return false, err
	}
	if len(rest) == 0 {
		return truth(v), nil
	}
	name, err := text(rest[0])
	if err != nil {
		return false, err
	}
	ok, err := r.test(name, args{pos: append([]Value{v}, rest[1:]...), named: named})
	return truth(ok), err
}
