package jinja

import (
	"fmt"
	"unicode/utf8"
)

// getAttr is of.name: a method or attribute if there is one, else the item of
// that key.
func (r *run) getAttr(of Value, name string) (Value, error) {
	switch of := of.(type) {
	case undefined:
		return nil, of.err()
	case *Map:
		if m := r.dictMethod(of, name); m != nil {
			return m, nil
		}
		if v, ok := of.get(name); ok {
			return v, nil
		}
	case *namespace:
		if v, ok := of.attrs.get(name); ok {
			return v, nil
		}
	case *loop:
		return of.attr(name), nil
	case string:
		if m := stringMethod(of, name); m != nil {
			return m, nil
		}
	case List:
		if m := listMethod(of, name); m != nil {
			return m, nil
		}
	case Tuple:
		if m := listMethod(List(of), name); m != nil {
			return m, nil
		}
	}
	return undefined{what: fmt.Sprintf("'%s' has no attribute '%s'", typeName(of), name)}, nil
}

// getItem is of[index]: the item if there is one, else the attribute.
func (r *run) getItem(of, index Value) (Value, error) {
	switch of := of.(type) {
	case undefined:
		return nil, of.err()
	case *Map:
		if err := r.hashed(index); err != nil {
			return nil, err
		}
		if v, ok := of.get(index); ok {
			return v, nil
		}
	case string, List, Tuple:
		if i, err := integer(index); err == nil {
			return r.itemAt(of, i)
		}
	}
	if name, ok := index.(string); ok {
		return r.getAttr(of, name)
	}
	text := reprIndex(index)
	return undefined{what: fmt.Sprintf("'%s' has no element %s", typeName(of), text)}, nil
}

func reprIndex(index Value) string {
	switch index := index.(type) {
	case int64:
		return fmt.Sprint(index)
	case string:
		return reprString(index)
	}
	return "of type " + typeName(index)
}

// itemAt returns the item at i, which counts from the end if negative.
func (r *run) itemAt(of Value, i int) (Value, error) {
	if s, ok := of.(string); ok {
		return r.characterAt(s, i)
	}
	list, err := r.items(of)
	if err != nil {
		return nil, err
	}
	at := i
	if at < 0 {
		at += len(list)
	}
	if at < 0 || at >= len(list) {
		return undefined{what: fmt.Sprintf("'%s' has no element %d", typeName(of), i)}, nil
	}
	return list[at], nil
}

// characterAt is the character at i of a text, which counts from the end if negative.
func (r *run) characterAt(s string, i int) (Value, error) {
	if err := r.scanned("characters of a text", 2*len(s)); err != nil {
		return nil, err
	}
	at := i
	if at < 0 {
		at += utf8.RuneCountInString(s)
	}
	for rest := s; rest != "" && at >= 0; at-- {
		_, n := utf8.DecodeRuneInString(rest)
		if at == 0 {
			return rest[:n], nil
		}
		rest = rest[n:]
	}
	return undefined{what: fmt.Sprintf("'str' has no element %d", i)}, nil
}

func abs(n int) int { return max(n, -n) }

// slice is of[from:to:step] with nil for a part left out.
func (r *run) slice(of Value, bounds [3]Value) (Value, error) {
	if u, ok := of.(undefined); ok {
		return nil, u.err()
	}
	switch of.(type) {
	case *Map, *generator:
		return nil, fmt.Errorf("%s cannot be sliced", typeName(of))
	}
	if _, err := length(of); err != nil {
		return nil, fmt.Errorf("%s cannot be sliced", typeName(of))
	}
	list, err := r.items(of)
	if err != nil {
		return nil, err
	}
	from, to, step, err := sliceBounds(bounds, len(list))
	if err != nil {
		return nil, err
	}
	var picked []Value
	if err := r.spend("slices", len(list)/4, slotBytes*abs((to-from)/step)); err != nil {
		return nil, err
	}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		picked = append(picked, list[i])
	}
	switch of.(type) {
	case string:
		text := []byte{}
		for _, v := range picked {
			text = append(text, v.(string)...)
		}
		return string(text), nil
	case Tuple:
		return Tuple(picked), nil
	}
	return List(picked), nil
}

// sliceBounds resolves the parts of a slice over n elements as Python does.
func sliceBounds(bounds [3]Value, n int) (from, to, step int, err error) {
	step = 1
	if bounds[2] != nil {
		if step, err = integer(bounds[2]); err != nil {
			return 0, 0, 0, err
		}
	}
	if step == 0 {
		return 0, 0, 0, fmt.Errorf("the step of a slice is 0")
	}
	step = max(min(step, n+1), -n-1)
	low, high := 0, n
	from, to = 0, n
	if step < 0 {
		low, high = -1, n-1
		from, to = n-1, -1
	}
	for i, bound := range []*int{&from, &to} {
		if bounds[i] == nil {
			continue
		}
		v, err := integer(bounds[i])
		if err != nil {
			return 0, 0, 0, err
		}
		if v < 0 {
			v += n
		}
		*bound = min(max(v, low), high)
	}
	return from, to, step, nil
}
