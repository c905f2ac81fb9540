package chat

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// schema is the JSON Schema of a tool's parameters; nil: not known.
type schema struct{ root *jinja.Map }

// schemaOf finds the parameters of a tool by its name. A tool is {"type": "function", "function": {…}}, or what is
// inside.
func schemaOf(tools jinja.List, name string) schema {
	for _, v := range tools {
		tool, _ := v.(*jinja.Map)
		if inner := child(tool, "function"); inner != nil {
			tool = inner
		}
		if tool == nil {
			continue
		}
		if s, _ := tool.Get("name"); s == name {
			return schema{child(tool, "parameters")}
		}
	}
	return schema{}
}

// child is a member that is an object; nil: there is none.
func child(m *jinja.Map, key string) *jinja.Map {
	if m == nil {
		return nil
	}
	v, _ := m.Get(key)
	c, _ := v.(*jinja.Map)
	return c
}

// kinds are the types that a value may have: null, boolean, number (integers too), string, array, object. None: the
// schema does not say.
type kinds map[string]bool

// kindsOf are the kinds of a parameter.
func (s schema) kindsOf(parameter string) kinds {
	k := kinds{}
	s.collect(k, child(child(s.root, "properties"), parameter), 0)
	return k
}

// collect adds the kinds that a schema names, in alternatives and references too, to a depth that no tool's schema
// reaches.
func (s schema) collect(k kinds, m *jinja.Map, depth int) {
	if m == nil || depth > 8 {
		return
	}
	for key, v := range m.All() {
		switch key {
		case "type":
			names, several := v.(jinja.List)
			if !several {
				names = jinja.List{v}
			}
			for _, name := range names {
				if text, ok := name.(string); ok {
					k[strings.Replace(text, "integer", "number", 1)] = true
				}
			}
		case "enum":
			values, _ := v.(jinja.List)
			for _, value := range values {
				k[kindOf(value)] = true
			}
		case "const":
			k[kindOf(v)] = true
		case "anyOf", "oneOf", "allOf":
			list, _ := v.(jinja.List)
			for _, one := range list {
				inner, _ := one.(*jinja.Map)
				s.collect(k, inner, depth+1)
			}
		case "$ref":
			path, _ := v.(string)
			s.collect(k, s.find(path), depth+1)
		}
	}
}

// find follows a reference within the schema, such as #/$defs/color.
func (s schema) find(path string) *jinja.Map {
	inner, local := strings.CutPrefix(path, "#/")
	if !local {
		return nil
	}
	at := s.root
	for _, key := range strings.Split(inner, "/") {
		at = child(at, key)
	}
	return at
}

func kindOf(v jinja.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case jinja.List:
		return "array"
	case *jinja.Map:
		return "object"
	}
	return "number"
}

// typed converts a text to one of the kinds: JSON of that kind, else the text itself. Null and booleans may
// have Python's names too, as some templates write them. Without kinds it is any JSON but a string if free, else the
// text.
func typed(text string, k kinds, free bool) jinja.Value {
	word := strings.TrimSpace(text)
	switch {
	case k["null"] && word == "None":
		return nil
	case k["boolean"] && (word == "True" || word == "False"):
		return word == "True"
	}
	v, err := jinja.DecodeJSON([]byte(word))
	kind := kindOf(v)
	if err == nil && kind != "string" && (k[kind] || free && len(k) == 0) {
		return v
	}
	return text
}
