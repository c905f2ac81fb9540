package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Settings is the configuration as plain values by key, for a record of the run. What opens a door is left out of it.
func (c *Config) Settings() map[string]any {
	tree := encode(reflect.ValueOf(c).Elem())
	hideSecrets(tree)
	return tree.value().(map[string]any)
}

func hideSecrets(n *node) {
	for i := range n.fields {
		f := &n.fields[i]
		if secret := f.key == "api_key" || f.key == "password" || f.key == "token"; secret && !f.value.isNull() {
			f.value = &node{text: "hidden", quoted: true}
			continue
		}
		if text := hidden(f.value.text); text != f.value.text { // of a database
			f.value = &node{text: text, quoted: true}
		}
		hideSecrets(f.value)
	}
	for _, item := range n.items {
		hideSecrets(item)
	}
}

// encode is the inverse of decode: a section as a tree without places, keys in the order of the schema.
func encode(v reflect.Value) *node {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return &node{text: "null"}
		}
		return encode(v.Elem())
	case reflect.Struct:
		out := &node{kind: mapping}
		for _, k := range keysOf(v.Type()) {
			if k.index < 0 {
				continue
			}
			item := encode(v.Field(k.index))
			if k.nullable && v.Field(k.index).Kind() == reflect.String && item.text == "" {
				item = &node{text: "null"}
			}
			out.fields = append(out.fields, field{key: k.name, value: item})
		}
		return out
	case reflect.Slice:
		out := &node{kind: sequence}
		for i := range v.Len() {
			out.items = append(out.items, encode(v.Index(i)))
		}
		return out
	case reflect.Map:
		return encodeMap(v)
	}
	return encodeScalar(v)
}

func encodeMap(v reflect.Value) *node {
	values := map[string]*node{}
	for it := v.MapRange(); it.Next(); {
		values[it.Key().String()] = encode(it.Value())
	}
	out := &node{kind: mapping}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out.fields = append(out.fields, field{key: key, value: values[key]})
	}
	return out
}

func encodeScalar(v reflect.Value) *node {
	switch v.Kind() {
	case reflect.Bool:
		return &node{text: strconv.FormatBool(v.Bool())}
	case reflect.Int, reflect.Int64:
		return &node{text: strconv.FormatInt(v.Int(), 10)}
	case reflect.Float64:
		return &node{text: formatFloat(v.Float())}
	case reflect.String:
		return &node{text: v.String(), quoted: true}
	}
	return &node{text: "null"}
}

// formatFloat writes the shortest text that reads back as the same number and is seen to be no whole number.
func formatFloat(f float64) string {
	switch {
	case f != f:
		return ".nan"
	case f > maxFinite:
		return ".inf"
	case f < -maxFinite:
		return "-.inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if _, whole := parseInt(s); whole {
		s += ".0"
	}
	return s
}

const maxFinite = 0x1.fffffffffffffp1023
