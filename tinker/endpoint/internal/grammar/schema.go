package grammar

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// compiler makes nodes of a JSON schema (draft 2020-12, https://json-schema.org/draft/2020-12). A value that it allows
// is valid; not every valid value is allowed: the members of an object come in the order of properties, and other
// members only if there are no properties. What it cannot hold, it refuses by the keyword.
type compiler struct {
	*parts
	root json.RawMessage
	refs map[string]*Node // by pointer; those that are being made are empty choices
	deep int
}

// mostDeep bounds schemas within schemas.
const mostDeep = 128

// Object is any JSON object.
func Object() *Node {
	p := newParts()
	return Seq(p.space, p.dict)
}

// Schema is the JSON values of a schema.
func Schema(raw json.RawMessage) (*Node, error) {
	c := &compiler{parts: newParts(), root: raw, refs: map[string]*Node{}}
	n, err := c.schema(raw, "schema")
	return Seq(c.space, n), err
}

// Arguments is the objects of a schema, which need not say that they are objects.
func Arguments(raw json.RawMessage) (*Node, error) {
	m, err := readMembers(raw, "schema")
	if len(m) == 0 {
		return Object(), err
	}
	return Schema(raw)
}

// ignored are keywords that say nothing about which values are valid.
var ignored = []string{"title", "description", "default", "examples", "example", "$schema", "$id", "$comment", "$defs",
	"definitions", "deprecated", "readOnly", "writeOnly", "discriminator", "contentMediaType", "contentEncoding"}

// members are an object's, in no order.
type members map[string]json.RawMessage

func readMembers(raw json.RawMessage, at string) (members, error) {
	var m members
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, param.Invalid("", "%s is %s; it must be an object", at, param.Brief(raw))
	}
	maps.DeleteFunc(m, func(name string, _ json.RawMessage) bool {
		return slices.Contains(ignored, name) || strings.HasPrefix(name, "x-")
	})
	return m, nil
}

// take reads a keyword into v and reports whether it was there.
func (m members) take(name, at string, v any) (bool, error) {
	raw, ok := m[name]
	delete(m, name)
	if ok && json.Unmarshal(raw, v) != nil {
		return true, param.Invalid("", "%s.%s is %s, which cannot be read", at, name, param.Brief(raw))
	}
	return ok, nil
}

// schema is the values of a schema at a place, such as schema.properties.age.
func (c *compiler) schema(raw json.RawMessage, at string) (*Node, error) {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return c.value, nil
	case "false":
		return Alt(), nil
	}
	m, err := readMembers(raw, at)
	if err != nil {
		return nil, err
	}
	return c.values(m, at)
}

// values is the values of a schema's keywords.
func (c *compiler) values(m members, at string) (*Node, error) {
	if c.deep++; c.deep > mostDeep {
		return nil, param.Invalid("", "%s is nested more than %d schemas deep", at, mostDeep)
	}
	defer func() { c.deep-- }()
	var nullable bool // of OpenAPI
	if _, err := m.take("nullable", at, &nullable); err != nil {
		return nil, err
	}
	if nullable {
		n, err := c.values(m, at)
		return Alt(n, Text("null")), err
	}
	var list []json.RawMessage
	for _, name := range []string{"enum", "const"} {
		if raw, ok := m[name]; ok {
			delete(m, name)
			if list = []json.RawMessage{raw}; name == "enum" && json.Unmarshal(raw, &list) != nil {
				return nil, param.Invalid("", "%s.enum is %s; it must be a list", at, param.Brief(raw))
			}
			delete(m, "type")
			return literals(list), c.rest(m, at)
		}
	}
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		if raw, ok := m[name]; ok {
			delete(m, name)
			return c.combined(m, name, raw, at)
		}
	}
	return c.typed(m, at)
}

// literals is one of some values, as JSON without white space.
func literals(list []json.RawMessage) *Node {
	var texts []string
	for _, raw := range list {
		var b bytes.Buffer
		var s string
		if json.Unmarshal(raw, &s) == nil && string(raw) != "null" { // as a model writes it
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			_ = e.Encode(s) // a text
			texts = append(texts, strings.TrimSuffix(b.String(), "\n"))
			continue
		}
		_ = json.Compact(&b, raw) // it was decoded
		texts = append(texts, b.String())
	}
	return Texts(texts)
}

// rest refuses the keywords that were not read.
func (c *compiler) rest(m members, at string) error {
	if names := slices.Sorted(maps.Keys(m)); len(names) > 0 {
		return param.Invalid("", "%s.%s is not supported together with the rest of %s, or not at all; leave it out, "+
			"and check it in the answer", at, names[0], at)
	}
	return nil
}

// combined is the values of $ref, allOf, anyOf or oneOf with the other keywords of the schema.
func (c *compiler) combined(m members, name string, raw json.RawMessage, at string) (*Node, error) {
	if name == "$ref" {
		var pointer string
		if json.Unmarshal(raw, &pointer) != nil {
			return nil, param.Invalid("", "%s.$ref is %s; it must be a text", at, param.Brief(raw))
		}
		if len(m) == 0 {
			return c.ref(pointer, at)
		}
		target, err := c.find(pointer, at)
		if err != nil {
			return nil, err
		}
		return c.merged(m, at, target)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, param.Invalid("", "%s.%s is %s; it must be a list of schemas", at, name, param.Brief(raw))
	}
	if name == "allOf" {
		return c.merged(m, at, list...)
	}
	n := Alt()
	for _, raw := range list {
		one, err := c.merged(m, at+"."+name, raw)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, one)
	}
	return n, nil
}

// merged is the values of all schemas and of keywords beside them. Only properties and required may be in several.
func (c *compiler) merged(m members, at string, list ...json.RawMessage) (*Node, error) {
	if len(m) == 0 && len(list) == 1 {
		return c.schema(list[0], at)
	}
	all := maps.Clone(m)
	for _, raw := range list {
		more, err := readMembers(raw, at)
		if err != nil {
			return nil, err
		}
		if ref, ok := more["$ref"]; ok && len(more) == 1 {
			var pointer string
			_ = json.Unmarshal(ref, &pointer) // "" is not found
			target, err := c.find(pointer, at)
			if err != nil {
				return nil, err
			}
			if more, err = readMembers(target, at); err != nil {
				return nil, err
			}
		}
		for name, raw := range more {
			was, both := all[name]
			switch {
			case !both || bytes.Equal(was, raw):
				all[name] = raw
			case name == "properties" || name == "required":
				all[name] = joined(was, raw)
			default:
				return nil, param.Invalid("", "%s: %s is in two schemas that must both hold; write them as one", at,
					name)
			}
		}
	}
	return c.values(all, at)
}

// joined is two objects, or two lists, as one.
func joined(a, b json.RawMessage) json.RawMessage {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	switch {
	case len(a) <= 2:
		return b
	case len(b) <= 2:
		return a
	}
	return slices.Concat(a[:len(a)-1], []byte(","), b[1:])
}

// ref is the values of the schema at a pointer.
func (c *compiler) ref(pointer, at string) (*Node, error) {
	if n := c.refs[pointer]; n != nil {
		return n, nil
	}
	raw, err := c.find(pointer, at)
	if err != nil {
		return nil, err
	}
	n := Alt()
	c.refs[pointer] = n
	one, err := c.schema(raw, pointer)
	if err == nil {
		n.list = append(n.list, one)
	}
	return n, err
}

// find is the schema at a pointer within the schema (RFC 6901).
func (c *compiler) find(pointer, at string) (json.RawMessage, error) {
	raw, ok := c.root, pointer != ""
	path := strings.TrimPrefix(pointer, "#") // which LiteLLM leaves out
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, name := range strings.Split(path, "/") {
		if i == 0 {
			ok = ok && name == ""
			continue
		}
		var m members
		if json.Unmarshal(raw, &m) != nil {
			ok = false
		}
		if raw = m[unescape.Replace(name)]; raw == nil {
			ok = false
		}
	}
	if !ok {
		return nil, param.Invalid("", "%s.$ref is %q, which is nothing within the schema", at, pointer)
	}
	return raw, nil
}
