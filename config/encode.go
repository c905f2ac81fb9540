package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
)

// Settings is the configuration as plain values by key, for a record of the run. Secrets are left out.
func (c *Config) Settings() map[string]any {
	tree := encode(reflect.ValueOf(c).Elem())
	hideSecrets(tree)
	return tree.Value().(map[string]any)
}

func hideSecrets(n *document.Node) {
	for i := range n.Fields {
		f := &n.Fields[i]
		if secret := f.Key == "api_key" || f.Key == "password" || f.Key == "token"; secret && !f.Value.IsNull() {
			f.Value = &document.Node{Text: "hidden", Quoted: true}
			continue
		}
		if text := hidden(f.Value.Text); text != f.Value.Text { // of a database
			f.Value = &document.Node{Text: text, Quoted: true}
		}
		hideSecrets(f.Value)
	}
	for _, item := range n.Items {
		hideSecrets(item)
	}
}

// encode is the inverse of decode: a section as a tree without places, keys in the order of the schema.
func encode(v reflect.Value) *document.Node {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return &document.Node{Text: "null"}
		}
		return encode(v.Elem())
	case reflect.Struct:
		out := &document.Node{Kind: document.Mapping}
		for _, k := range keysOf(v.Type()) {
			if k.index < 0 {
				continue
			}
			item := encode(v.Field(k.index))
			if k.nullable && v.Field(k.index).Kind() == reflect.String && item.Text == "" {
				item = &document.Node{Text: "null"}
			}
			out.Fields = append(out.Fields, document.Field{Key: k.name, Value: item})
		}
		return out
	case reflect.Slice:
		out := &document.Node{Kind: document.Sequence}
		for i := range v.Len() {
			out.Items = append(out.Items, encode(v.Index(i)))
		}
		return out
	case reflect.Map:
		return encodeMap(v)
	}
	return encodeScalar(v)
}

func encodeMap(v reflect.Value) *document.Node {
	values := map[string]*document.Node{}
	for it := v.MapRange(); it.Next(); {
		values[it.Key().String()] = encode(it.Value())
	}
	out := &document.Node{Kind: document.Mapping}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out.Fields = append(out.Fields, document.Field{Key: key, Value: values[key]})
	}
	return out
}

func encodeScalar(v reflect.Value) *document.Node {
	switch v.Kind() {
	case reflect.Bool:
		return &document.Node{Text: strconv.FormatBool(v.Bool())}
	case reflect.Int, reflect.Int64:
		return &document.Node{Text: strconv.FormatInt(v.Int(), 10)}
	case reflect.Float64:
		return &document.Node{Text: formatFloat(v.Float())}
	case reflect.String:
		return &document.Node{Text: v.String(), Quoted: true}
	}
	return &document.Node{Text: "null"}
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
	if _, whole := document.ParseInt(s); whole {
		s += ".0"
	}
	return s
}

const maxFinite = 0x1.fffffffffffffp1023
