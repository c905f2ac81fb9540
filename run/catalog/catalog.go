// Package catalog collects the base models that a server offers.
package catalog

import (
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
)

// Catalog has the base models of a server.
type Catalog struct {
	Models     map[string]engine.Model
	Aliases    map[string]string
	Folders    map[string]string // base models by the absolute paths of their folders
	Tokenizers map[string]string // those folders by base model
	HubNames   map[string]string // names on the hub by base model
	Order      []string          // nil: sorted by name

	find func(name string) (modelname.Model, error)
	note func(string)
}

// Options say where models are.
type Options struct {
	Roots   []string                                   // folders of models, models, and GGUF files
	Shipped string                                     // the name of the model that the program carries
	Dir     string                                     // its folder
	Cache   string                                     // the hub's cache; may be ""
	Find    func(name string) (modelname.Model, error) // finds a GGUF model
	Note    func(string)                               // hears which models are left out
}

// Find collects the base models: models below the roots by their relative names, GGUF models by their files' names,
// the models of the hub's cache by their ids, and the model that the program carries, also as tiny. A folder's absolute
// path is also a name of its model.
func Find(o Options) (*Catalog, error) {
	m := empty(o)
	for _, root := range o.Roots {
		add := m.walk
		if modelname.MadeOfGGUF(root) {
			add = m.gguf
		}
		if err := add(root); err != nil {
			return nil, err
		}
	}
	own := slices.Sorted(maps.Keys(m.Models)) // come first
	if err := m.add(o.Shipped, o.Dir); err == nil {
		m.Aliases["tiny"] = o.Shipped
	}
	if o.Cache != "" {
		m.cached(o.Cache)
	}
	if len(own) > 0 {
		m.Order = append(own, slices.DeleteFunc(slices.Sorted(maps.Keys(m.Models)), func(name string) bool {
			return name == o.Shipped || slices.Contains(own, name)
		})...)
	}
	return m, nil
}

func empty(o Options) *Catalog {
	return &Catalog{Models: map[string]engine.Model{}, Aliases: map[string]string{}, Folders: map[string]string{},
		Tokenizers: map[string]string{}, HubNames: map[string]string{}, find: o.Find, note: o.Note}
}

// Names lists the base models, each with its aliases.
func (m *Catalog) Names() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m.Models)) {
		line := name
		var also []string
		for alias, to := range m.Aliases {
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

// add adds a model folder if this program can load it. The path of a folder in the hub's cache names its repository.
func (m *Catalog) add(name, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := engine.CheckWeights(abs); err != nil {
		return err
	}
	m.Models[name] = engine.Model{Dir: abs}
	m.Tokenizers[name] = abs
	if m.Folders[abs] == "" {
		m.Folders[abs] = name
	}
	if repo, _, ok := strings.Cut(filepath.ToSlash(abs), "/snapshots/"); ok {
		if id, ok := strings.CutPrefix(path.Base(repo), "models--"); ok {
			m.HubNames[name] = strings.ReplaceAll(id, "--", "/")
		}
	}
	return nil
}

// Private maps this machine's folders to the names that clients read in errors instead.
func (m *Catalog) Private(data string) (map[string]string, error) {
	abs, err := filepath.Abs(data)
	if err != nil {
		return nil, err
	}
	out := map[string]string{abs: "(data folder)"}
	for dir, name := range m.Folders {
		out[dir] = name
	}
	return out, nil
}

// cached adds the supported models of the hub's cache, by hub id.
func (m *Catalog) cached(cache string) {
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
			m.note(fmt.Sprintf("model %s of the hub's cache is not served: %v", id, err))
		}
	}
}
