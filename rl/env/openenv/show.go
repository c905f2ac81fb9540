package openenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// path leads to a part of an observation: names of members, numbers of elements (negative ones from the end), and *
// for all of them.
type path []string

// pathsOf reads paths separated by commas, such as "prompt,messages.-1.content". "" is nil.
func pathsOf(text string) (list []path) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, strings.Split(part, "."))
		}
	}
	return list
}

func (p path) String() string { return strings.Join(p, ".") }

// shown is the text of an observation for the player: the parts that paths lead to, a line each.
func shown(observation json.RawMessage, paths []path) (string, error) {
	var parts []string
	for _, p := range paths {
		found, err := p.follow(observation)
		if err != nil {
			return "", err
		}
		for _, v := range found {
			if text := plain(v); text != "" {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, "\n"), nil
}

// follow returns the values at the end of the path.
func (p path) follow(v json.RawMessage) ([]json.RawMessage, error) {
	if len(p) == 0 {
		return []json.RawMessage{v}, nil
	}
	members, elements := map[string]json.RawMessage{}, []json.RawMessage{}
	switch {
	case json.Unmarshal(v, &members) == nil && isObject(v):
		next, ok := members[p[0]]
		if ok {
			return p[1:].follow(next)
		}
		return nil, fmt.Errorf("the observation has no %q; it has %s", p[0],
			strings.Join(slices.Sorted(maps.Keys(members)), ", "))
	case json.Unmarshal(v, &elements) == nil && p[0] == "*":
		var all []json.RawMessage
		for _, e := range elements {
			found, err := p[1:].follow(e)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	case json.Unmarshal(v, &elements) == nil && v[0] == '[':
		n, err := strconv.Atoi(p[0])
		if n < 0 {
			n += len(elements)
		}
		if err != nil || n < 0 || n >= len(elements) {
			return nil, fmt.Errorf("the observation has a list of %d elements where %q is to be shown; write a number "+
				"of an element, or * for all", len(elements), p[0])
		}
		return p[1:].follow(elements[n])
	}
	return nil, fmt.Errorf("the observation has %s where %q is to be shown", cut(string(v), 100), p[0])
}

// plain is a value as text: a text as it is, null as nothing, anything else as JSON.
func plain(v json.RawMessage) string {
	var text *string
	if json.Unmarshal(v, &text) != nil {
		return string(v)
	}
	if text == nil {
		return ""
	}
	return *text
}

// whole is the text of an observation without a template: {"observation": …, "action_schema": …}. Since 0.6 the
// observation has its metadata, which clients of older servers never saw: it is left out.
func whole(observation, schema json.RawMessage) string {
	return `{"observation": ` + string(without(observation, "metadata")) + `, "action_schema": ` + string(schema) + `}`
}

// without is an object without a member. The others keep their order and form.
func without(object json.RawMessage, name string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return object
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for d.More() {
		key, err := d.Token()
		var v json.RawMessage
		if err != nil || d.Decode(&v) != nil {
			return object
		}
		if key == name {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		quoted, err := encode(key)
		if err != nil {
			return object
		}
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes()
}
