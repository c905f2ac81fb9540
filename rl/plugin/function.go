package plugin

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// term is a function in a file, and its weight in a reward.
type term struct {
	Weight float64 `json:"weight"`
	Path   string  `json:"path"` // as the reward names it
	File   string  `json:"file"`
	Name   string  `json:"name"` // "": the file's function reward, or its only one
}

var function = regexp.MustCompile(
	`^\s*(?:([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*\*\s*)?(\S.*?\.py)(?::(\w+))?\s*$`)

// terms reads the name of a reward that is a function, or a sum of several: right.py + 0.1*style.py:brief. Other names
// have none. find says where a file lies.
func terms(name string, find func(path string) string) (list []term, err error) {
	for text := range strings.SplitSeq(name, " + ") {
		m := function.FindStringSubmatch(text)
		if m == nil {
			return nil, nil
		}
		t := term{Weight: 1, Path: m[2], File: find(m[2]), Name: m[3]}
		if m[1] != "" {
			if t.Weight, err = strconv.ParseFloat(m[1], 64); err != nil {
				return nil, fmt.Errorf("plugin: the weight %s of the reward %q: %w", m[1], name, err)
			}
		}
		list = append(list, t)
	}
	for _, t := range list {
		if info, err := os.Stat(t.File); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("plugin: %s, of the reward %q, is not there; name a Python file as FILE.py or "+
				"FILE.py:function", t.Path, name)
		}
	}
	return list, nil
}

// functions are the terms of the rewards that are functions.
func functions(rewards []string, find func(path string) string) (map[string][]term, error) {
	all := map[string][]term{}
	for _, name := range rewards {
		list, err := terms(name, find)
		if err != nil {
			return nil, err
		}
		if list != nil {
			all[name] = list
		}
	}
	return all, nil
}
