package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config/internal/document"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// Schema is the JSON Schema (draft 2020-12) of a configuration file, made from the types of this package, for editors
// that complete and check YAML. It says what the decoder accepts: every key with its default, the names that a choice
// knows, null if it means something, and ${…} in place of any value. Only [Load] checks values
// against each other.
func Schema(parts ...Names) []byte {
	s := schemer{functions: joined(parts).Functions,
		defs: map[string]any{"interpolation": map[string]any{"type": "string", "pattern": `\$\{`}}}
	s.functions["algorithm_type"] = sortedKeys(recipe.All())
	root := s.section(reflect.ValueOf(Default()).Elem(), "")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "trinity run configuration"
	root["$defs"] = s.defs
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // maps of strings, numbers and lists: nothing here can fail
	}
	return append(text, '\n')
}

// schemer turns types into schemas; sections that are used in several places go into defs.
type schemer struct {
	functions map[string][]string // of section algorithm, by key
	defs      map[string]any
}

type object = map[string]any

// section is the schema of a mapping of known keys. v holds the defaults.
func (s *schemer) section(v reflect.Value, path string) object {
	properties := object{}
	for _, k := range keysOf(v.Type()) {
		if k.index < 0 {
			properties[k.name] = object{"description": "set by the program"}
			continue
		}
		p := s.value(v.Field(k.index), document.Join(path, k.name), k.nullable)
		switch k.applies {
		case "no":
			p = object{"allOf": []any{p}, "description": "accepted; does not apply here"}
		case "verl":
			p = object{"allOf": []any{p}, "description": "applies if model.tinker.enable is false"}
		}
		properties[k.name] = p
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

// value is the schema of a key's value: whatever its kind takes, or ${…}.
func (s *schemer) value(v reflect.Value, path string, nullable bool) object {
	null, inserted := object{"type": "null"}, object{"$ref": "#/$defs/interpolation"}
	switch v.Kind() {
	case reflect.Pointer:
		return either(s.value(blank(v), path, false), null)
	case reflect.Struct:
		return either(s.reference(v, path), inserted)
	case reflect.Slice:
		list := object{"type": "array", "items": s.value(blank(v), path+"[]", false)}
		if v.Type() == reflect.TypeFor[Strings]() {
			return either(list, null, object{"type": "string"})
		}
		return either(list, null, inserted)
	case reflect.Map:
		return either(object{"type": "object", "additionalProperties": s.value(blank(v), path+".*", false)}, null,
			inserted)
	case reflect.Interface:
		return object{}
	}
	return s.scalar(v, path, nullable)
}

// blank is a zero value of what v points to, or holds many of.
func blank(v reflect.Value) reflect.Value { return reflect.New(v.Type().Elem()).Elem() }

// reference is a section by name: its type's, so that editors show one definition however often it is used. The
// defaults are the type's.
func (s *schemer) reference(v reflect.Value, path string) object {
	name := strings.ToLower(v.Type().Name())
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = nil // a section inside itself ends here
		defaults := reflect.New(v.Type()).Elem()
		fillDefaults(defaults)
		s.defs[name] = s.section(defaults, path)
	}
	return object{"$ref": "#/$defs/" + name}
}

// scalar is the schema of a number, a text or a choice, with its default.
func (s *schemer) scalar(v reflect.Value, path string, nullable bool) object {
	kinds := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Float64: "number"}
	out := object{"type": []string{"string", "number", "boolean"}} // a text takes any scalar as it is written
	if name, ok := kinds[v.Kind()]; ok {
		out = either(object{"type": name}, object{"$ref": "#/$defs/interpolation"})
	} else if names := s.choices(v, path); names != nil {
		out = either(object{"enum": names}, object{"$ref": "#/$defs/interpolation"})
	}
	if nullable {
		out = either(out, object{"type": "null"})
	}
	if !v.IsZero() {
		out["default"] = v.Interface()
	}
	return out
}

// choices lists the names that the text at path may be, nil where any text will do.
func (s *schemer) choices(v reflect.Value, path string) []string {
	if e, ok := v.Interface().(enum); ok {
		names, aliases := e.choices()
		return slices.Concat(names, slices.Sorted(maps.Keys(aliases)))
	}
	section, name, _ := strings.Cut(path, ".")
	if section != "algorithm" {
		return nil
	}
	return s.functions[name]
}

// either joins alternatives, flat.
func either(parts ...object) object {
	var all []any
	for _, p := range parts {
		if inner, ok := p["anyOf"].([]any); ok && len(p) == 1 {
			all = append(all, inner...)
			continue
		}
		all = append(all, p)
	}
	return object{"anyOf": all}
}
