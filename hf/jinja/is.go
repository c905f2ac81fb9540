package jinja

import "fmt"

// testTable returns the tests: x is name.
func testTable() map[string]function {
	tests := map[string]function{
		"defined":   kindTest(func(v Value) bool { return !isUndefined(v) }),
		"undefined": kindTest(isUndefined),
		"none":      kindTest(func(v Value) bool { return v == nil }),
		"boolean":   kindTest(func(v Value) bool { _, ok := v.(bool); return ok }),
		"true":      kindTest(func(v Value) bool { b, ok := v.(bool); return ok && b }),
		"false":     kindTest(func(v Value) bool { b, ok := v.(bool); return ok && !b }),
		"integer":   kindTest(func(v Value) bool { _, ok := v.(int64); return ok }),
		"float":     kindTest(func(v Value) bool { _, ok := v.(float64); return ok }),
		"number":    kindTest(func(v Value) bool { _, ok := number(v); return ok }),
		"string":    kindTest(func(v Value) bool { _, ok := v.(string); return ok }),
		"mapping":   kindTest(func(v Value) bool { _, ok := v.(*Map); return ok }),
		"sequence":  kindTest(func(v Value) bool { _, err := length(v); return err == nil }),
		"iterable":  kindTest(iterable),
		"callable":  kindTest(func(v Value) bool { return callable(v) }),
		"escaped":   kindTest(func(Value) bool { return false }),
		"lower":     caseTest(lower),
		"upper":     caseTest(upper),
		"odd":       remainderTest(1),
		"even":      remainderTest(0),
	}
	for op, names := range map[string][]string{
		"==": {"eq", "equalto", "=="}, "!=": {"ne", "!="}, "<": {"lt", "lessthan", "<"}, "<=": {"le", "<="},
		">": {"gt", "greaterthan", ">"}, ">=": {"ge", ">="}, "in": {"in"},
	} {
		for _, name := range names {
			tests[name] = relationTest(name, op)
		}
	}
	tests["sameas"] = relationTest("sameas", "==")
	tests["divisibleby"] = divisible
	tests["filter"] = func(r *run, a args) (Value, error) { return knows(a, r.t.filters) }
	tests["test"] = func(r *run, a args) (Value, error) { return knows(a, r.t.tests) }
	return tests
}

func isUndefined(v Value) bool { _, ok := v.(undefined); return ok }

// iterable takes nothing out of a generator.
func iterable(v Value) bool {
	if _, ok := v.(*generator); ok {
		return true
	}
	switch v.(type) {
	case List, Tuple, *Map, string, undefined:
		return true
	}
	return false
}

func callable(v Value) bool {
	switch v.(type) {
	case function, *loop:
		return true
	}
	return false
}

func kindTest(is func(Value) bool) function {
	return func(_ *run, a args) (Value, error) {
		v, err := a.bind("the test", "value")
		if err != nil {
			return nil, err
		}
		return is(v[0]), nil
	}
}

// caseTest is lower or upper: there are letters, and all have that case.
func caseTest(to func(string) string) function {
	return func(r *run, a args) (Value, error) {
		s, _, err := r.texted(a, "the test")
		if err != nil {
			return nil, err
		}
		if err := r.spend("tests of case", len(s)/2, 0); err != nil {
			return nil, err
		}
		return s == to(s) && lower(s) != upper(s), nil
	}
}

func remainderTest(want int64) function {
	return func(r *run, a args) (Value, error) {
		v, err := a.bind("the test", "value")
		if err != nil {
			return nil, err
		}
		m, err := r.arith("%", v[0], int64(2))
		return m == want, err
	}
}

func divisible(r *run, a args) (Value, error) {
	v, err := a.bind("divisibleby", "value", "num")
	if err != nil {
		return nil, err
	}
	m, err := r.arith("%", v[0], or(v[1], nil))
	return m == int64(0), err
}

func relationTest(name, op string) function {
	return func(r *run, a args) (Value, error) {
		v, err := a.bind(name, "value", "other")
		if err != nil {
			return nil, err
		}
		if _, ok := v[1].(missing); ok {
			return nil, fmt.Errorf("test '%s' needs an argument", name)
		}
		return r.holds(op, v[0], v[1])
	}
}

func knows(a args, table map[string]function) (Value, error) {
	v, err := a.bind("the test", "value")
	if err != nil {
		return nil, err
	}
	name, _ := v[0].(string)
	_, ok := table[name]
	return ok, nil
}
