package gguf

import (
	"fmt"
	"math"
)

// Metadata are the keys of a file. The readers take any stored type that has the value, since converters differ.
type Metadata struct {
	path   string
	values map[string]any
}

// Has reports whether a key is there.
func (m Metadata) Has(key string) bool { _, ok := m.values[key]; return ok }

// Len is how many keys there are.
func (m Metadata) Len() int { return len(m.values) }

// Text is a string. ok is false without the key.
func (m Metadata) Text(key string) (s string, ok bool, err error) {
	return get[string](m, key, "a string")
}

// Bool is a truth value.
func (m Metadata) Bool(key string) (b, ok bool, err error) { return get[bool](m, key, "a bool") }

// Int is an integer of 0 or more.
func (m Metadata) Int(key string) (n int64, ok bool, err error) {
	n, ok, err = get[int64](m, key, "an integer")
	if err == nil && n < 0 {
		return 0, ok, fmt.Errorf("gguf: %s: key %s is %d; it must be 0 or more", m.path, key, n)
	}
	return n, ok, err
}

// Float is a finite number.
func (m Metadata) Float(key string) (x float64, ok bool, err error) {
	if n, whole := m.values[key].(int64); whole {
		return float64(n), true, nil
	}
	x, ok, err = get[float64](m, key, "a number")
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return 0, ok, fmt.Errorf("gguf: %s: key %s is %v; it must be finite", m.path, key, x)
	}
	return x, ok, err
}

// Texts is a list of strings.
func (m Metadata) Texts(key string) (list []string, ok bool, err error) {
	return get[[]string](m, key, "a list of strings")
}

// Ints is a list of integers.
func (m Metadata) Ints(key string) (list []int64, ok bool, err error) {
	return get[[]int64](m, key, "a list of integers")
}

// Floats is a list of numbers.
func (m Metadata) Floats(key string) (list []float64, ok bool, err error) {
	return get[[]float64](m, key, "a list of numbers")
}

// Bools is a list of truth values.
func (m Metadata) Bools(key string) (list []bool, ok bool, err error) {
	return get[[]bool](m, key, "a list of bools")
}

func get[T any](m Metadata, key, what string) (v T, ok bool, err error) {
	value, there := m.values[key]
	if !there {
		return v, false, nil
	}
	v, ok = value.(T)
	if !ok {
		return v, true, fmt.Errorf("gguf: %s: key %s is %s; it must be %s", m.path, key, describe(value), what)
	}
	return v, true, nil
}

// describe says what kind of value a key has.
func describe(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case bool:
		return "a bool"
	case int64:
		return "an integer"
	case uint64:
		return "an integer above 2^63"
	case float64:
		return "a number"
	case []string:
		return "a list of strings"
	case []int64:
		return "a list of integers"
	case []float64:
		return "a list of numbers"
	}
	return "a list of bools"
}
