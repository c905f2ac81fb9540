package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// listed binds the arguments of a filter whose value is gone through.
func (r *run) listed(a args, name string, params ...string) (list []Value, rest []Value, err error) {
	v, err := a.bind(name, append([]string{"value"}, params...)...)
	if err != nil {
		return nil, nil, err
	}
	list, err = r.items(or(v[0], undefined{}))
	return list, v[1:], err
}

func filterItems(r *run, a args) (Value, error) {
	v, err := a.bind("items", "value")
	if err != nil {
		return nil, err
	}
	switch m := v[0].(type) {
	case undefined:
		return generate(nil), nil
	case *Map:
		return generate(pairs(m)), nil
	}
	return nil, fmt.Errorf("items of %s, which is not a dict", typeName(v[0]))
}

func filterList(r *run, a args) (Value, error) {
	list, _, err := r.listed(a, "list")
	return List(list), err
}

func filterFirst(r *run, a args) (Value, error) {
	if len(a.pos) == 1 {
		if g, ok := a.pos[0].(*generator); ok {
			if v, ok := g.next(); ok {
				return v, nil
			}
		}
	}
	list, _, err := r.listed(a, "first")
	if err != nil || len(list) == 0 {
		return undefined{what: "there is no first item, the sequence was empty"}, err
	}
	return list[0], nil
}

func filterLast(r *run, a args) (Value, error) {
	if len(a.pos) == 1 {
		if _, ok := a.pos[0].(*generator); ok {
			return nil, fmt.Errorf("a generator has no last item")
		}
	}
	list, _, err := r.listed(a, "last")
	if err != nil || len(list) == 0 {
		return undefined{what: "there is no last item, the sequence was empty"}, err
	}
	return list[len(list)-1], nil
}

// filterReverse gives a text of a text, a list of what can only be gone through, an iterator of the rest.
func filterReverse(r *run, a args) (Value, error) {
	list, _, err := r.listed(a, "reverse")
	if err != nil {
		return nil, err
	}
	if err := r.spend("reverse", len(list)/4, slotBytes*len(list)); err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	if _, ok := a.pos[0].(string); ok {
		var out strings.Builder
		for _, v := range list {
			out.WriteString(v.(string))
		}
		return out.String(), nil
	}
	if _, ok := a.pos[0].(*generator); ok {
		return List(list), nil
	}
	return generate(list), nil
}

func filterJoin(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "join", "d", "attribute")
	if err != nil {
		return nil, err
	}
	sep, err := r.str(or(rest[0], ""))
	if err != nil {
		return nil, err
	}
	if path := or(rest[1], nil); path != nil {
		if list, err = r.mapAttr(list, path, nil); err != nil {
			return nil, err
		}
	}
	return r.joinText(list, sep)
}

// follow gets an attribute by its path, such as function.name or 0. A default
// that is not nil takes the place of what is undefined on the way.
func (r *run) follow(v, path, def Value) (Value, error) {
	s, ok := path.(string)
	if !ok {
		return r.getItem(v, path)
	}
	for part := range strings.SplitSeq(s, ".") {
		if err := r.step(); err != nil {
			return nil, err
		}
		key := Value(part)
		if i, err := strconv.ParseInt(part, 10, 64); err == nil {
			key = i
		}
		var err error
		if v, err = r.getItem(v, key); err != nil {
			return nil, err
		}
		if isUndefined(v) && def != nil {
			v = def
		}
	}
	return v, nil
}

func (r *run) mapAttr(list []Value, path, def Value) ([]Value, error) {
	if err := r.spend("map", len(list), slotBytes*len(list)); err != nil {
		return nil, err
	}
	out := make([]Value, len(list))
	for i, v := range list {
		x, err := r.follow(v, path, def)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

// folded is v as the key of filters that by default ignore case.
func (r *run) folded(v, path, caseSensitive Value) (Value, error) {
	if path = or(path, nil); path != nil {
		var err error
		if v, err = r.follow(v, path, nil); err != nil {
			return nil, err
		}
	}
	if s, ok := v.(string); ok && !truth(or(caseSensitive, false)) {
		return lower(s), r.spend("lower", 1+len(s)/8, len(s))
	}
	return v, nil
}

func filterSort(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "sort", "reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	err = r.sortBy(list, truth(or(rest[0], false)),
		func(v Value) (Value, error) { return r.folded(v, rest[2], rest[1]) })
	return List(list), err
}

func filterUnique(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "unique", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	seen := &Map{}
	var out []Value
	if err := r.spend("unique", len(list), entryBytes*len(list)); err != nil {
		return nil, err
	}
	for _, v := range list {
		key, err := r.folded(v, rest[1], rest[0])
		if err != nil {
			return nil, err
		}
		if err := hashable(key); err != nil {
			return nil, err
		}
		if err := r.hashed(key); err != nil {
			return nil, err
		}
		if _, ok := seen.get(key); !ok {
			seen.set(key, true)
			out = append(out, v)
		}
	}
	return generate(out), nil
}

func filterSum(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "sum", "attribute", "start")
	if err != nil {
		return nil, err
	}
	sum := or(rest[1], int64(0))
	for _, v := range list {
		if err := r.step(); err != nil {
			return nil, err
		}
		if path := or(rest[0], nil); path != nil {
			if v, err = r.follow(v, path, nil); err != nil {
				return nil, err
			}
		}
		if sum, err = r.arith("+", sum, v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// filterExtreme is min (sign -1) or max (sign 1).
func filterExtreme(name string, sign int) function {
	return func(r *run, a args) (Value, error) {
		list, rest, err := r.listed(a, name, "case_sensitive", "attribute")
		if err != nil || len(list) == 0 {
			return undefined{what: "there is no item, the sequence was empty"}, err
		}
		best := list[0]
		for _, v := range list[1:] {
			x, err := r.folded(v, rest[1], rest[0])
			if err != nil {
				return nil, err
			}
			y, err := r.folded(best, rest[1], rest[0])
			if err != nil {
				return nil, err
			}
			c, err := r.compare(x, y)
			if err != nil {
				return nil, err
			}
			if c*sign > 0 {
				best = v
			}
		}
		return best, nil
	}
}

func filterDictSort(r *run, a args) (Value, error) {
	v, err := a.bind("dictsort", "value", "case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	m, ok := v[0].(*Map)
	if !ok {
		return nil, fmt.Errorf("dictsort of %s, which is not a dict", typeName(v[0]))
	}
	at := 0
	if or(v[2], "key") == "value" {
		at = 1
	}
	if err := r.spend("dictsort", m.Len(), entryBytes*m.Len()); err != nil {
		return nil, err
	}
	list := pairs(m)
	err = r.sortBy(list, truth(or(v[3], false)),
		func(p Value) (Value, error) { return r.folded(p.(Tuple)[at], nil, v[1]) })
	return list, err
}

func filterBatch(r *run, a args) (Value, error) {
	list, rest, err := r.listed(a, "batch", "linecount", "fill_with")
	if err != nil {
		return nil, err
	}
	n, err := integer(rest[0])
	if err != nil || n < 1 || n > maxRange {
		return nil, fmt.Errorf("batch needs a length of at least 1")
	}
	var out []Value
	for part := range slices.Chunk(list, n) {
		if err := r.spend("batch", 1+n/4, pieceBytes+slotBytes*n); err != nil {
			return nil, err
		}
		row := slices.Clone(List(part))
		for fill := or(rest[1], nil); fill != nil && len(row) < n; {
			row = append(row, fill)
		}
		out = append(out, row)
	}
	return generate(out), nil
}
