package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run/catalog"
)

// findModels collects the base models of a server with these roots, and with further names of models.
func findModels(s *surroundings, roots []string, aliases map[string]string) (*catalog.Catalog, error) {
	m, err := catalog.Find(catalog.Options{Roots: roots, Shipped: shippedRoot + "/model",
		Dir: s.find(shippedRoot + "/model"), Cache: hubFolder(s),
		Find: func(name string) (modelname.Model, error) { return s.finder().Model(s.ctx, name) },
		Note: func(text string) { fmt.Fprintln(s.err, foreign.Text("note: "+text)) }})
	if err != nil {
		return nil, err
	}
	for alias, name := range aliases {
		if _, ok := m.Models[name]; !ok {
			return nil, usageError{fmt.Errorf("serve: --alias %s=%s: there is no base model %s; there are %s",
				alias, name, name, strings.Join(m.Names(), ", "))}
		}
		m.Aliases[alias] = name
	}
	if len(m.Models) == 0 {
		return nil, errors.New("serve: no base model was found; name a folder with --models")
	}
	return m, nil
}
