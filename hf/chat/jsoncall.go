package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// jsonCall takes a call whose name and arguments are JSON, with its end. That may
// be missing where the answer was cut off after the JSON.
func jsonCall(text string) (call *jinja.Map, after string, err error) {
	if call, after, err = takeCall(text, "arguments"); err == nil {
		after, err = closeCall(after, "the JSON")
	}
	return call, after, err
}

// llamaCalls reads an answer that is one or more JSON objects, apart from each
// other by semicolons or white space, or text with such after <|python_tag|>.
// A built-in tool's name.call(key="value") may follow the tag, too.
func llamaCalls(text string) (content string, calls jinja.List, err error) {
	before, code, tagged := strings.Cut(text, pythonTag)
	if !tagged {
		before, code = "", text
	}
	code = strings.TrimSpace(code)
	for _, end := range []string{"<|eom_id|>", "<|eot_id|>"} {
		code = strings.TrimSpace(strings.TrimSuffix(code, end))
	}
	if tagged && !strings.HasPrefix(code, "{") {
		call, err := builtinCall(code)
		if err != nil {
			return text, nil, fmt.Errorf("chat: a tool call is not well formed: %w", err)
		}
		return strings.TrimRight(before, "\r\n"), jinja.List{call}, nil
	}
	for rest := code; rest != ""; rest = strings.TrimLeft(rest, "; \t\r\n") {
		var call *jinja.Map
		if call, rest, err = takeCall(rest, "parameters"); err != nil {
			break
		}
		calls = append(calls, call)
	}
	switch {
	case err == nil && calls != nil:
		return strings.TrimRight(before, "\r\n"), calls, nil
	case tagged:
		return text, nil, fmt.Errorf("chat: a tool call is not well formed: %w", errors.Join(err))
	}
	return text, nil, nil // an answer like any other, perhaps JSON that somebody asked for
}

// takeCall takes the JSON of a call at the start of text. Its arguments are the
// member asked for, or the one that the other style has; they may be missing, or
// be an object written as a string. The call is in the form that chat templates
// expect: type and function, with name and arguments.
func takeCall(text, member string) (call *jinja.Map, rest string, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, text, fmt.Errorf("no JSON: %w", err)
	}
	v, err := jinja.DecodeJSON(raw)
	if err != nil {
		return nil, text, err
	}
	object, ok := v.(*jinja.Map)
	if !ok {
		return nil, text, fmt.Errorf("the JSON is not an object")
	}
	if inner, ok := object.Get("function"); ok {
		if f, ok := inner.(*jinja.Map); ok {
			object = f
		}
	}
	name, _ := object.Get("name")
	if s, ok := name.(string); !ok || s == "" {
		return nil, text, fmt.Errorf("the JSON has no name")
	}
	arguments, err := callArguments(object, member, "arguments", "parameters")
	if err != nil {
		return nil, text, err
	}
	return newCall(name.(string), arguments), text[d.InputOffset():], nil
}

// callArguments returns the first of the members that is there.
func callArguments(object *jinja.Map, members ...string) (*jinja.Map, error) {
	for _, member := range members {
		v, ok := object.Get(member)
		if !ok {
			continue
		}
		if s, ok := v.(string); ok {
			if decoded, err := jinja.DecodeJSON([]byte(s)); err == nil {
				v = decoded
			}
		}
		if m, ok := v.(*jinja.Map); ok {
			return m, nil
		}
		return nil, fmt.Errorf("its %s are no object", member)
	}
	return &jinja.Map{}, nil
}

func newCall(name string, arguments *jinja.Map) *jinja.Map {
	function, call := &jinja.Map{}, &jinja.Map{}
	function.Set("name", name)
	function.Set("arguments", arguments)
	call.Set("type", "function")
	call.Set("function", function)
	return call
}

// builtinCall reads name.call(key="value", key=1): the values are JSON.
func builtinCall(code string) (*jinja.Map, error) {
	name, rest, found := strings.Cut(code, ".call(")
	if !found || name == "" || strings.ContainsAny(name, " \t\r\n(\"'=") {
		return nil, fmt.Errorf("neither JSON nor name.call(…): %.40q", code)
	}
	arguments := &jinja.Map{}
	for rest = strings.TrimSpace(rest); !strings.HasPrefix(rest, ")"); rest = strings.TrimLeft(rest, ", ") {
		key, value, found := strings.Cut(rest, "=")
		d := json.NewDecoder(strings.NewReader(value))
		var raw json.RawMessage
		if err := d.Decode(&raw); !found || err != nil {
			return nil, fmt.Errorf("the arguments of %s.call are not key=\"value\"", name)
		}
		v, err := jinja.DecodeJSON(raw)
		if err != nil {
			return nil, err
		}
		arguments.Set(strings.TrimSpace(key), v)
		rest = value[d.InputOffset():]
	}
	if strings.TrimSpace(rest) != ")" {
		return nil, fmt.Errorf("something follows %s.call(…)", name)
	}
	return newCall(name, arguments), nil
}
