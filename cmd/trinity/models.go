package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
)

// served has the base models of a server.
type served struct {
	engine     map[string]engine.Model
	aliases    map[string]string
	folders    map[string]string // base models by the absolute paths of their folders
	tokenizers map[string]string // those folders by base model
	hubNames   map[string]string // names on the hub by base model
	order      []string          // nil: sorted by name
}

func newServed() *served {
	return &served{engine: map[string]engine.Model{}, aliases: map[string]string{}, folders: map[string]string{},
		tokenizers: map[string]string{}, hubNames: map[string]string{}}
}

func (m *served) names() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m.engine)) {
		line := name
		var also []string
		for alias, to := range m.aliases {
			if to == name {
				also = append(also, alias)
			}
		}
		slices.Sort(also)
		if len(also) > 0 {
			line += " (" + strings.Join(also, ", ") + ")"
		}
		out = append(out, line)
	}
	return out
}

// findModels collects the base models: the folders below --models by their relative names, GGUF models by those of
// their files, the models of the hub's cache by their ids, and the model that the program carries. A folder's absolute
// path is also a name of its model.
func (c *serveStart) findModels(s *surroundings) (*served, error) {
	m := newServed()
	for _, root := range c.Models {
		var err error
		if modelname.MadeOfGGUF(root) {
			err = m.gguf(s, root)
		} else {
			err = m.walk(root, s)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(m.engine) > 0 { // the user's own models come first
		m.order = slices.Sorted(maps.Keys(m.engine))
	}
	if err := m.add(shippedRoot+"/model", s.find(shippedRoot+"/model")); err == nil {
		m.aliases["tiny"] = shippedRoot + "/model"
	}
	if cache := hubFolder(s); cache != "" {
		m.cached(cache, s)
	}
	for alias, name := range c.Alias {
		if _, ok := m.engine[name]; !ok {
			return nil, usageError{fmt.Errorf("serve: --alias %s=%s: there is no base model %s; there are %s",
				alias, name, name, strings.Join(m.names(), ", "))}
		}
		m.aliases[alias] = name
	}
	if m.order != nil {
		m.order = append(m.order, slices.DeleteFunc(slices.Sorted(maps.Keys(m.engine)), func(name string) bool {
			return name == shippedRoot+"/model" || slices.Contains(m.order, name)
		})...)
	}
	if len(m.engine) == 0 {
		return nil, errors.New("serve: no base model was found; name a folder with --models")
	}
	return m, nil
}

// add adds a model folder if this program can load it. The path of a folder in the hub's cache names its repository.
func (m *served) add(name, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := engine.CheckWeights(abs); err != nil {
		return err
	}
	m.engine[name] = engine.Model{Dir: abs}
	m.tokenizers[name] = abs
	if m.folders[abs] == "" {
		m.folders[abs] = name
	}
	if repo, _, ok := strings.Cut(filepath.ToSlash(abs), "/snapshots/"); ok {
		if id, ok := strings.CutPrefix(path.Base(repo), "models--"); ok {
			m.hubNames[name] = strings.ReplaceAll(id, "--", "/")
		}
	}
	return nil
}

// private maps this machine's folders to the names that clients read in errors instead.
func (m *served) private(data string) (map[string]string, error) {
	abs, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	out := map[string]string{abs: "(data folder)"}
	for dir, name := range m.folders {
		out[dir] = name
	}
	return out, nil
}

// cached adds the supported models of the hub's cache, by hub id.
func (m *served) cached(cache string, s *surroundings) {
	repos, err := disk.Glob(cache, "models--*")
	if err != nil {
		return
	}
	for _, repo := range repos {
		id := strings.ReplaceAll(strings.TrimPrefix(filepath.Base(repo), "models--"), "--", "/")
		commit, err := os.ReadFile(filepath.Join(repo, "refs", "main"))
		if err != nil {
			continue // not downloaded completely
		}
		dir := filepath.Join(repo, "snapshots", strings.TrimSpace(string(commit)))
		if weights, err := disk.Glob(dir, "*.safetensors"); err != nil || len(weights) == 0 {
			continue
		}
		if err := m.add(id, dir); err != nil {
			fmt.Fprintf(s.err, "note: model %s of the hub's cache is not served: %s\n", id, foreign.Text(err.Error()))
		}
	}
}
