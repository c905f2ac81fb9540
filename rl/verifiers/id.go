package verifiers

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml"
)

// ID is an environment's id as trinity gem has it: verifiers:ID?dir=FOLDER&taskset.split=test, with workflow_args of
// verifiers_workflow as arguments.
type ID struct {
	Args   map[string]any // workflow_args, with env_id
	Tasks  string         // where the tasks are read: env_id, or for a server that runs already the argument tasks
	Random []string       // answers of the random player, separated by | ; nil: the default
}

// Parse reads an id. taskset.NAME and config.NAME.NAME are keys of the sections; values are YAML.
func Parse(id string) (p ID, err error) {
	id, query, _ := strings.Cut(strings.TrimSpace(id), "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return p, fmt.Errorf("verifiers: the arguments: %w; write name=value, with & between them", err)
	}
	p.Args, p.Tasks = map[string]any{"env_id": id}, id
	for name, given := range values {
		text := given[len(given)-1]
		switch name {
		case "random":
			p.Random = strings.Split(text, "|")
			continue
		case "tasks":
			p.Tasks = Prefix + strings.TrimPrefix(text, Prefix)
			continue
		case "env_id":
			return p, errors.New("verifiers: env_id is no argument; write it before the question mark")
		}
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			return p, fmt.Errorf("verifiers: the argument %s=%s is no value: %w", name, text, err)
		}
		if v == nil { // the harness null is a name
			v = text
		}
		if err := put(p.Args, strings.Split(name, "."), v); err != nil {
			return p, fmt.Errorf("verifiers: the argument %s: %w", name, err)
		}
	}
	if _, err := readArgs(p.Args); err != nil {
		return p, fmt.Errorf("verifiers: %w", err)
	}
	if strings.HasPrefix(p.Tasks, Prefix+"tcp://") {
		return p, fmt.Errorf("verifiers: the env server of %s cannot list its tasks; say with tasks=ID which "+
			"environment they are of", id)
	}
	return p, nil
}

// put sets a value below the keys of a path.
func put(m map[string]any, path []string, v any) error {
	for _, key := range path[:len(path)-1] {
		if m[key] == nil {
			m[key] = map[string]any{}
		}
		below, is := m[key].(map[string]any)
		if !is {
			return fmt.Errorf("%s is %v and has no keys", key, m[key])
		}
		m = below
	}
	last := path[len(path)-1]
	if m[last] != nil {
		return fmt.Errorf("%s is given twice", last)
	}
	m[last] = v
	return nil
}
