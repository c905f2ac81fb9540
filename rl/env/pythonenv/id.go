package pythonenv

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Prefix begins the ids of environments in Python.
const Prefix = "python:"

// Is reports whether an id names an environment in Python.
func Is(id string) bool { return strings.HasPrefix(strings.TrimSpace(id), Prefix) }

// The origins of environments.
const (
	ofGem       = "gem"       // name is an id of GEM's registry
	ofGymnasium = "gymnasium" // an id of Gymnasium's
	ofFile      = "file"      // FILE.py:Class
	ofModule    = "module"    // package.module:Class
)

// address is a parsed id.
type address struct {
	from, name string
	kwargs     map[string]any // of the constructor
	parallel   bool           // its steps run in parallel with others'
}

// parse reads an id: python:gem:ID, python:gymnasium:ID, python:FILE.py:Class or python:MODULE:Class, and after a
// question mark arguments of the constructor, as in a URL: ?dataset=rows.jsonl&max_turns=5. Values are JSON, else
// text. find locates the files of relative paths.
func parse(id string, find func(string) string) (a address, err error) {
	rest, query, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(id), Prefix), "?")
	first, name, ok := strings.Cut(rest, ":")
	switch {
	case first == ofGem || first == ofGymnasium:
		a.from, a.name = first, name
	default:
		cut := strings.LastIndex(rest, ":")
		ok = cut > 0
		if !ok {
			break
		}
		path, class := rest[:cut], rest[cut+1:]
		if a.from, name = ofModule, class; strings.HasSuffix(path, ".py") {
			a.from = ofFile
			if path, err = filepath.Abs(find(path)); err != nil {
				return a, fmt.Errorf("env: %s: %w", id, err)
			}
		}
		a.name = path + ":" + class
	}
	if !ok || name == "" {
		return a, fmt.Errorf("env: %q names no environment; write python:gem:ID, python:gymnasium:ID, "+
			"python:FILE.py:Class or python:MODULE:Class", id)
	}
	return a, a.arguments(id, query, find)
}

// arguments reads the part after the question mark.
func (a *address) arguments(id, query string, find func(string) string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("env: the arguments of %s: %w; write name=value, with & between them", id, err)
	}
	a.kwargs = map[string]any{}
	for name, list := range values {
		if len(list) > 1 {
			return fmt.Errorf("env: %s gives %s twice", id, name)
		}
		var v any = list[0]
		var read any
		if json.Unmarshal([]byte(list[0]), &read) == nil {
			v = read
		}
		if path, is := v.(string); is && name == "dataset" {
			v = find(path)
		}
		if name == "parallel" {
			on, is := v.(bool)
			if !is {
				return fmt.Errorf("env: parallel of %s is %q; give true or false", id, list[0])
			}
			a.parallel = on
			continue
		}
		a.kwargs[name] = v
	}
	return nil
}
