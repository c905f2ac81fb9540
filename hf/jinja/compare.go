package jinja

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// equal is Python's a == b.
func (r *run) equal(a, b Value, depth int) (bool, error) {
	if depth > maxNesting {
		return false, fmt.Errorf("a value nests more than %d deep", maxNesting)
	}
	if err := r.step(); err != nil {
		return false, err
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && compareNumbers(x, y) == 0, nil
	}
	switch a := a.(type) {
	case List:
		b, ok := b.(List)
		if !ok {
			return false, nil
		}
		return r.equalItems(a, b, depth)
	case Tuple:
		b, ok := b.(Tuple)
		if !ok {
			return false, nil
		}
		return r.equalItems(a, b, depth)
	case *Map:
		b, ok := b.(*Map)
		if !ok || a.Len() != b.Len() {
			return false, nil
		}
		for k, x := range a.All() {
			if err := r.hashed(k); err != nil {
				return false, err
			}
			y, ok := b.get(k)
			if !ok {
				return false, nil
			}
			if same, err := r.equal(x, y, depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case undefined:
		_, ok := b.(undefined)
		return ok, nil
	case function:
		return false, nil
	}
	switch b.(type) {
	case List, Tuple, function:
		return false, nil
	}
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok && len(s) == len(t) {
			return s == t, r.scanned("comparisons of texts", len(s))
		}
	}
	return a == b, nil
}

func (r *run) equalItems(a, b []Value, depth int) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if same, err := r.equal(a[i], b[i], depth+1); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func compareNumbers(a, b Value) int {
	i, ok1 := a.(int64)
	j, ok2 := b.(int64)
	if ok1 && ok2 {
		return cmp.Compare(i, j)
	}
	x, y := toFloat(a), toFloat(b)
	switch {
	case x < y:
		return -1
	case x == y:
		return 0
	}
	return 1 // also for NaN, which equals nothing
}

// compare orders two numbers, strings, lists or tuples.
func (r *run) compare(a, b Value) (int, error) {
	for _, v := range []Value{a, b} {
		if u, ok := v.(undefined); ok {
			return 0, u.err()
		}
	}
	if err := r.step(); err != nil {
		return 0, err
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	if ok1 && ok2 {
		return compareNumbers(x, y), nil
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), r.scanned("comparisons of texts", min(len(a), len(b)))
		}
	case List:
		if b, ok := b.(List); ok {
			return r.compareItems(a, b)
		}
	case Tuple:
		if b, ok := b.(Tuple); ok {
			return r.compareItems(a, b)
		}
	}
	return 0, fmt.Errorf("%s and %s have no order", typeName(a), typeName(b))
}

func (r *run) compareItems(a, b []Value) (int, error) {
	for i := range min(len(a), len(b)) {
		same, err := r.equal(a[i], b[i], 0)
		if err != nil {
			return 0, err
		}
		if !same {
			if err := r.step(); err != nil {
				return 0, err
			}
			if _, nested := a[i].(List); nested {
				return 0, fmt.Errorf("lists of lists have no order here")
			}
			return r.compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// sort sorts in place, keeping the order of equals.
func (r *run) sort(list []Value, reverse bool) error {
	return r.sortBy(list, reverse, func(v Value) (Value, error) { return v, nil })
}

// sortBy sorts by a key of each element.
func (r *run) sortBy(list []Value, reverse bool, key func(Value) (Value, error)) error {
	type pair struct{ key, v Value }
	if err := r.spend("sorting", len(list), 4*slotBytes*len(list)); err != nil {
		return err
	}
	pairs := make([]pair, len(list))
	for i, v := range list {
		k, err := key(v)
		if err != nil {
			return err
		}
		pairs[i] = pair{k, v}
	}
	var failed error
	slices.SortStableFunc(pairs, func(a, b pair) int {
		if failed != nil { // the rest of the order does not matter
			return 0
		}
		c, err := r.compare(a.key, b.key)
		failed = err
		if reverse {
			c = -c
		}
		return c
	})
	for i := range pairs {
		list[i] = pairs[i].v
	}
	return failed
}

// contains is Python's x in box.
func (r *run) contains(box, x Value) (bool, error) {
	switch box := box.(type) {
	case undefined:
		return false, nil
	case *Map:
		_, ok := box.get(x)
		return ok, r.hashed(x)
	case string:
		s, ok := x.(string)
		if !ok {
			return false, fmt.Errorf("'in <string>' needs a string on its left, not %s", typeName(x))
		}
		return strings.Contains(box, s), r.scanned("in", len(box)+len(s))
	case *generator: // what was looked at is gone
		for v, ok := box.next(); ok; v, ok = box.next() {
			if same, err := r.equal(v, x, 0); same || err != nil {
				return same, err
			}
		}
		return false, nil
	}
	list, err := r.items(box)
	if err != nil {
		return false, err
	}
	for _, v := range list {
		if same, err := r.equal(v, x, 0); same || err != nil {
			return same, err
		}
	}
	return false, nil
}
