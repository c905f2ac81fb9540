package jinja

import (
	"fmt"
	"iter"
	"math"
)

// Map is a dictionary that keeps the order of its keys. The zero value is
// empty. It must not be changed while a template renders with it.
type Map struct {
	keys   []Value
	values []Value
	index  map[Value]int
}

// Set sets a key, which keeps its place if it is there already. The value must
// be one of this package, see [Value].
func (m *Map) Set(key string, v Value) { m.set(key, v) }

// Get returns the value of a key and whether it is there.
func (m *Map) Get(key string) (Value, bool) { return m.get(key) }

// Len returns the number of keys.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

// All goes over the keys and values in order.
func (m *Map) All() iter.Seq2[Value, Value] {
	return func(yield func(Value, Value) bool) {
		for i := range m.Len() {
			if !yield(m.keys[i], m.values[i]) {
				return
			}
		}
	}
}

// Clone returns a copy that shares the values.
func (m *Map) Clone() *Map {
	c := &Map{}
	for k, v := range m.All() {
		c.set(k, v)
	}
	return c
}

// hash returns the form of a key by which equal keys are equal: 1, 1.0 and
// true are one key.
func hash(key Value) Value {
	switch k := key.(type) {
	case bool:
		if k {
			return int64(1)
		}
		return int64(0)
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<53 {
			return int64(k)
		}
	}
	return key
}

// hashable refuses what cannot be a key.
func hashable(key Value) error {
	switch key.(type) {
	case nil, bool, int64, float64, string:
		return nil
	}
	return fmt.Errorf("%s cannot be a key", typeName(key))
}

func (m *Map) set(key, v Value) {
	if m.index == nil {
		m.index = make(map[Value]int)
	}
	h := hash(key)
	if i, ok := m.index[h]; ok {
		m.values[i] = v
		return
	}
	m.index[h] = len(m.keys)
	m.keys = append(m.keys, key)
	m.values = append(m.values, v)
}

func (m *Map) get(key Value) (Value, bool) {
	if m == nil || hashable(key) != nil {
		return nil, false
	}
	i, ok := m.index[hash(key)]
	if !ok {
		return nil, false
	}
	return m.values[i], true
}
