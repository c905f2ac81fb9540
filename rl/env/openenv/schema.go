package openenv

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// schema is the part of a JSON Schema that actions need.
type schema struct {
	raw        json.RawMessage
	Title      string             `json:"title"`
	Type       any                `json:"type"` // a name, or a list of names
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Additional any                `json:"additionalProperties"`
	Enum       []any              `json:"enum"`
	Const      any                `json:"const"`
	Default    any                `json:"default"`
	AnyOf      []*schema          `json:"anyOf"`
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	Items      *schema            `json:"items"`
}

// UnmarshalJSON implements json.Unmarshaler. true, for anything, is an empty schema.
func (s *schema) UnmarshalJSON(raw []byte) error {
	type plain schema
	s.raw = slices.Clone(raw)
	if string(raw) == "true" || string(raw) == "false" {
		return nil
	}
	return json.Unmarshal(raw, (*plain)(s))
}

// is reports whether the schema allows a type.
func (s *schema) is(name string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return slices.ContainsFunc(s.AnyOf, func(o *schema) bool { return o != nil && o.is(name) })
}

// only is the one required field, "" if there is none or more than one.
func (s *schema) only() string {
	if len(s.Required) != 1 {
		return ""
	}
	return s.Required[0]
}

// tools reports whether actions are calls of MCP tools, as OpenEnv's own clients find out.
func (s *schema) tools() bool {
	switch s.Title {
	case "CallToolAction", "ListToolsAction":
		return true
	case "Action":
		delete(s.Properties, "metadata")
		return len(s.Properties) == 0
	}
	return false
}

// value is a text as the value of a field: the JSON that the schema asks for, else the text.
func (s *schema) value(text string) any {
	trimmed := strings.TrimSpace(text)
	if s == nil || s.is("string") {
		return text
	}
	var v any
	d := json.NewDecoder(strings.NewReader(trimmed))
	d.UseNumber()
	if d.Decode(&v) == nil && !d.More() {
		return v
	}
	return text
}

// allows reports whether an action has the fields that the schema wants, and no others. The server
// judges their values.
func (s *schema) allows(action map[string]json.RawMessage) bool {
	for _, name := range s.Required {
		if _, ok := action[name]; !ok {
			return false
		}
	}
	for name := range action {
		if _, ok := s.Properties[name]; !ok && s.Additional != true {
			return false
		}
	}
	return true
}

// sample draws a value. defs are the definitions of the whole schema.
func (s *schema) sample(r env.Draws, defs map[string]*schema, depth int) any {
	if s == nil || depth > 8 {
		return nil
	}
	if s.Ref != "" {
		return defs[s.Ref[strings.LastIndex(s.Ref, "/")+1:]].sample(r, defs, depth+1)
	}
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[r.IntN(len(s.Enum))]
	case s.is("string"):
		return words[r.IntN(len(words))]
	case s.is("boolean"):
		return r.IntN(2) == 1
	case s.is("integer"), s.is("number"):
		low, high := 0.0, 9.0
		if s.Minimum != nil {
			low, high = *s.Minimum, *s.Minimum+9
		}
		if s.Maximum != nil {
			high = max(low, *s.Maximum)
		}
		return int(low) + r.IntN(max(1, min(int(high-low), 1<<20)+1))
	case s.is("array"):
		return []any{s.Items.sample(r, defs, depth+1)}
	case s.is("object"):
		return s.object(r, defs, depth)
	case len(s.AnyOf) > 0:
		return s.AnyOf[r.IntN(len(s.AnyOf))].sample(r, defs, depth+1)
	}
	return nil
}

// object draws the required fields.
func (s *schema) object(r env.Draws, defs map[string]*schema, depth int) map[string]any {
	v := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) {
			v[name] = s.Properties[name].sample(r, defs, depth+1)
		}
	}
	return v
}

// words are the random player's texts.
var words = []string{"hello", "yes", "no", "crane", "[crane]", "left", "up", "1", "2", "print(1)"}

// schemas is the answer of /schema.
type schemas struct {
	Action *schema `json:"action"`
}

func readSchemas(raw []byte) (*schema, error) {
	var s schemas
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, garbage(raw, err.Error())
	}
	if s.Action == nil || !isObject(s.Action.raw) {
		return nil, fmt.Errorf("%w: /schema has no action: %s", errGarbage, quoted(raw))
	}
	return s.Action, nil
}
