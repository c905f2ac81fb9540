package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Value is a template's value: nil, bool, int64, float64, string, List, Tuple
// or *Map. Templates also meet functions, namespaces and undefined names,
// which only this package makes. [ValueOf] makes Values of other Go types.
type Value = any

// List is a Python list. Templates cannot change it.
type List []Value

// Tuple is a Python tuple.
type Tuple []Value

// undefined is a name or attribute that does not exist. It renders as nothing
// and is false; what says why in errors.
type undefined struct{ what string }

func (u undefined) err() error { return fmt.Errorf("%s", u.what) }

// namespace is the one thing a template can change.
type namespace struct{ attrs *Map }

// typeName is Python's name of the type of v.
func typeName(v Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case List:
		return "list"
	case Tuple:
		return "tuple"
	case *Map:
		return "dict"
	case undefined:
		return "undefined"
	case *namespace:
		return "namespace"
	case *loop:
		return "loop"
	case *generator:
		return "generator"
	}
	return "function"
}

// truth is Python's bool(v).
func truth(v Value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case List:
		return len(v) > 0
	case Tuple:
		return len(v) > 0
	case *Map:
		return v.Len() > 0
	}
	return true
}

// length is Python's len(v).
func length(v Value) (int, error) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), nil
	case List:
		return len(v), nil
	case Tuple:
		return len(v), nil
	case *Map:
		return v.Len(), nil
	case undefined:
		return 0, nil
	}
	return 0, fmt.Errorf("%s has no length", typeName(v))
}

// items returns what a loop over v goes through.
func (r *run) items(v Value) ([]Value, error) {
	switch v := v.(type) {
	case List:
		return v, nil
	case Tuple:
		return v, nil
	case undefined:
		return nil, nil
	case *generator:
		return v.take(), nil
	case *Map:
		return slices.Clone(v.keys), r.spend("keys", v.Len()/4, slotBytes*v.Len())
	case string:
		return r.characters(v)
	}
	return nil, fmt.Errorf("%s is not iterable", typeName(v))
}

// number returns v as int64 or float64; bool counts as a number.
func number(v Value) (Value, bool) {
	switch v := v.(type) {
	case bool:
		return hash(v), true
	case int64, float64:
		return v, true
	}
	return nil, false
}

func toFloat(v Value) float64 {
	if i, ok := v.(int64); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

// integer returns v as an int for a count or an index.
func integer(v Value) (int, error) {
	switch v := v.(type) {
	case int64:
		if int64(int(v)) == v {
			return int(v), nil
		}
	case bool:
		return int(hash(v).(int64)), nil
	}
	return 0, fmt.Errorf("%s where an int is needed", typeName(v))
}

// formatFloat is Python's repr of a float.
func formatFloat(f float64) string {
	s := strconv.FormatFloat(f, 'e', -1, 64)
	switch s {
	case "NaN":
		return "nan"
	case "+Inf":
		return "inf"
	case "-Inf":
		return "-inf"
	}
	var exp int
	for i := range len(s) {
		if s[i] == 'e' {
			exp, _ = strconv.Atoi(s[i+1:])
		}
	}
	if exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if exp >= 0 && !slices.Contains([]byte(s), '.') {
		s += ".0"
	}
	return s
}
