package jinja

import "fmt"

// filterGroupBy is groupby(attribute): pairs of a value and the elements that
// have it, in order of the value.
func filterGroupBy(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "groupby", "attribute", "default", "case_sensitive")
	if err != nil {
		return nil, err
	}
	path := or(rest[0], nil)
	if path == nil {
		return nil, fmt.Errorf("groupby needs an attribute")
	}
	value := func(v Value) (Value, error) { return r.follow(v, path, or(rest[1], nil)) }
	key := func(v Value) (Value, error) {
		x, err := value(v)
		if err != nil {
			return nil, err
		}
		return r.folded(x, nil, rest[2])
	}
	list = append([]Value{}, list...)
	if err := r.sortBy(list, false, key); err != nil {
		return nil, err
	}
	return r.groups(list, key, value)
}

// groups makes pairs of neighbours of one key. The first one's value names them.
func (r *run) groups(list []Value, key, value func(Value) (Value, error)) (Value, error) {
	out := List{}
	for len(list) > 0 {
		first, err := key(list[0])
		if err != nil {
			return nil, err
		}
		n := 1
		for ; n < len(list); n++ {
			k, err := key(list[n])
			if err != nil {
				return nil, err
			}
			if same, err := r.equal(first, k, 0); err != nil {
				return nil, err
			} else if !same {
				break
			}
		}
		name, err := value(list[0])
		if err != nil {
			return nil, err
		}
		out = append(out, Tuple{name, List(list[:n])})
		list = list[n:]
	}
	return out, nil
}

// filterSlice is slice(n): n lists of nearly one length, one after the other;
// fill_with makes the short ones as long as the others.
func filterSlice(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "slice", "slices", "fill_with")
	if err != nil {
		return nil, err
	}
	n, err := integer(or(rest[0], nil))
	if err != nil || n < 1 || r.fits(n) != nil {
		return nil, fmt.Errorf("slice needs a number of lists")
	}
	if err := r.spend("slice", n, pieceBytes*n+slotBytes*len(list)); err != nil {
		return nil, err
	}
	var out []Value
	size, long := len(list)/n, len(list)%n
	for i := range n {
		end := size
		if i < long {
			end++
		}
		part := append(List{}, list[:end]...)
		list = list[end:]
		if fill := or(rest[1], nil); fill != nil && i >= long {
			part = append(part, fill)
		}
		out = append(out, part)
	}
	return generate(out), nil
}
