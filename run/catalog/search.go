package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// walk finds the models below a folder, which may be a model itself. An unreadable model does not stop the others.
func (m *Catalog) walk(root string) error {
	w := &search{Catalog: m, root: root}
	err := disk.WalkDir(root, w.visit)
	if w.found == 0 && len(w.damaged) > 0 {
		return errors.Join(w.damaged...)
	}
	for _, d := range w.damaged {
		m.note(fmt.Sprintf("a model below %s is not served: %v", root, d))
	}
	links := ""
	if len(w.links) > 0 {
		links = fmt.Sprintf("links to folders are not followed, since they may lead anywhere, and in a circle: %s; "+
			"name each with a --models of its own", strings.Join(w.links, ", "))
	}
	switch {
	case err == nil && w.found == 0 && links != "":
		err = fmt.Errorf("serve: --models %s: there is no model below it; %s", root, links)
	case err == nil && w.found == 0:
		err = fmt.Errorf("serve: --models %s: there is no model below it, that is a folder with config.json and "+
			"*.safetensors, or a GGUF file", root)
	case links != "":
		m.note(fmt.Sprintf("--models %s: %s", root, links))
	}
	return err
}

// search is a search for models below a folder.
type search struct {
	*Catalog
	root    string
	found   int
	damaged []error
	links   []string // to folders
}

func (w *search) visit(path string, d fs.DirEntry, err error) error {
	dir := filepath.Dir(path)
	switch {
	case err != nil || d.IsDir():
		return err
	case d.Type()&fs.ModeSymlink != 0 && disk.IsFolder(path):
		w.links = append(w.links, path)
		return nil
	case modelname.IsModelFile(d.Name()) && !IsModel(dir):
		w.count(w.gguf(path))
		return nil
	case d.Name() != "config.json" || !IsModel(dir):
		return nil
	}
	name, err := filepath.Rel(w.root, dir)
	if err != nil {
		return err
	}
	if name == "." {
		name = filepath.Base(filepath.Clean(w.root))
	}
	w.count(w.add(filepath.ToSlash(name), dir))
	return filepath.SkipDir
}

func (w *search) count(err error) {
	if err != nil {
		w.damaged = append(w.damaged, fmt.Errorf("serve: %w", err))
		return
	}
	w.found++
}

// IsModel reports whether a folder has a configuration and weights.
func IsModel(dir string) bool {
	weights, err := disk.Glob(dir, "*.safetensors")
	return err == nil && len(weights) > 0 && disk.Exists(filepath.Join(dir, "config.json"))
}

// gguf adds a GGUF model by the name of its file, or of Ollama's.
func (m *Catalog) gguf(name string) error {
	found, err := m.find(name)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(found.Dir)
	if err != nil {
		return err
	}
	if other, ok := m.Models[found.Name]; ok && other.Dir != abs {
		return fmt.Errorf("%s: another model is called %s; rename the file", name, found.Name)
	}
	return m.add(found.Name, found.Dir)
}
